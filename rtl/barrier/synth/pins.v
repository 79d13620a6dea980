// What is synthesised: hb_board without its reset, which no board has on a pin. Else the reset's way from its pad would
// count as a pad's delay.
`default_nettype none
module pins #(
    parameter P = 4,
    parameter ROOT = 1,
    parameter STAGES = 2,
    parameter SAMPLES = 3
) (
    input  wire         clk,
    input  wire [P-1:0] pin_in,
    output wire         pin_out,
    output wire         up_out,
    input  wire         down_in,
    input  wire         cs_n,
    input  wire         sck,
    input  wire         mosi,
    output wire         miso,
    output wire         irq
);
    hb_board #(.P(P), .ROOT(ROOT), .STAGES(STAGES), .SAMPLES(SAMPLES)) board_inst (
        .clk(clk), .rst(1'b0), .pin_in(pin_in), .pin_out(pin_out), .up_out(up_out), .down_in(down_in), .cs_n(cs_n),
        .sck(sck), .mosi(mosi), .miso(miso), .irq(irq)
    );
endmodule
`default_nettype wire
