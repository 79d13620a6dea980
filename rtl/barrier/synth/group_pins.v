// What is synthesised of the board with groups by wires: hb_group_board without its reset, as pins.v.
`default_nettype none
module group_pins #(
    parameter P = 4,
    parameter BITS = 11,
    parameter STAGES = 2,
    parameter SAMPLES = 3
) (
    input  wire              clk,
    input  wire [P-1:0]      pin_in,
    input  wire [P*BITS-1:0] select_in,
    output wire [P-1:0]      pin_out,
    input  wire              cs_n,
    input  wire              sck,
    input  wire              mosi,
    output wire              miso,
    output wire              irq
);
    hb_group_board #(.P(P), .BITS(BITS), .STAGES(STAGES), .SAMPLES(SAMPLES)) board_inst (
        .clk(clk), .rst(1'b0), .pin_in(pin_in), .select_in(select_in), .pin_out(pin_out), .cs_n(cs_n), .sck(sck),
        .mosi(mosi), .miso(miso), .irq(irq)
    );
endmodule
`default_nettype wire
