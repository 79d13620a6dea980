// A small FPGA board whose ports select one of 2**BITS groups by wires: hb_group_device with its register bus over SPI.
`default_nettype none
module hb_group_board #(
    parameter P = 4,
    parameter BITS = 11,
    parameter STAGES = 2,
    parameter SAMPLES = 3
) (
    input  wire              clk,
    input  wire              rst,
    input  wire [P-1:0]      pin_in,
    input  wire [P*BITS-1:0] select_in,
    output wire [P-1:0]      pin_out,
    input  wire              cs_n,
    input  wire              sck,
    input  wire              mosi,
    output wire              miso,
    output wire              irq
);
    wire bus_valid, bus_write;
    wire [11:0] bus_addr;
    wire [31:0] bus_wdata, bus_rdata;

    hb_spi spi_inst (
        .clk(clk), .rst(rst), .cs_n(cs_n), .sck(sck), .mosi(mosi), .miso(miso), .bus_valid(bus_valid),
        .bus_write(bus_write), .bus_addr(bus_addr), .bus_wdata(bus_wdata), .bus_rdata(bus_rdata)
    );
    hb_group_device #(.P(P), .BITS(BITS), .STAGES(STAGES), .SAMPLES(SAMPLES)) device_inst (
        .clk(clk), .rst(rst), .pin_in(pin_in), .select_in(select_in), .pin_out(pin_out), .bus_valid(bus_valid),
        .bus_write(bus_write), .bus_addr(bus_addr), .bus_wdata(bus_wdata), .bus_rdata(bus_rdata), .irq(irq)
    );
endmodule
`default_nettype wire
