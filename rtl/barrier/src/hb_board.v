// A small FPGA board as a barrier device: P wire pairs, one uplink, the register bus over SPI, an interrupt line.
// Power-on values start it; `rst` is for a clock that is not steady from the first edge on.
`default_nettype none
module hb_board #(
    parameter P = 4,
    parameter B = 1,
    parameter ROOT = 1,
    parameter STAGES = 2,
    parameter SAMPLES = 3
) (
    input  wire           clk,
    input  wire           rst,
    input  wire [B*P-1:0] pin_in,
    output wire [B-1:0]   pin_out,
    output wire [B-1:0]   up_out,
    input  wire [B-1:0]   down_in,
    input  wire           cs_n,
    input  wire           sck,
    input  wire           mosi,
    output wire           miso,
    output wire           irq
);
    wire bus_valid, bus_write;
    wire [11:0] bus_addr;
    wire [31:0] bus_wdata, bus_rdata;

    hb_spi spi_inst (
        .clk(clk), .rst(rst), .cs_n(cs_n), .sck(sck), .mosi(mosi), .miso(miso), .bus_valid(bus_valid),
        .bus_write(bus_write), .bus_addr(bus_addr), .bus_wdata(bus_wdata), .bus_rdata(bus_rdata)
    );
    hb_device #(.P(P), .B(B), .ROOT(ROOT), .STAGES(STAGES), .SAMPLES(SAMPLES)) device_inst (
        .clk(clk), .rst(rst), .pin_in(pin_in), .pin_out(pin_out), .up_out(up_out), .down_in(down_in),
        .bus_valid(bus_valid), .bus_write(bus_write), .bus_addr(bus_addr), .bus_wdata(bus_wdata),
        .bus_rdata(bus_rdata), .irq(irq)
    );
endmodule
`default_nettype wire
