// Four nodes on Lattice's iCE40-HX8K Breakout Board (ICE40HX8K-B-EVN): 12 MHz oscillator, 96 MHz by the PLL, header J2.
`default_nettype none
module hx8k #(
    parameter ROOT = 1
) (
    input  wire       clk_12mhz,
    input  wire [3:0] from_node,
    output wire [3:0] to_node,
    output wire       up_out,
    input  wire       down_in,
    input  wire       cs_n,
    input  wire       sck,
    input  wire       mosi,
    output wire       miso,
    output wire       irq,
    output wire [7:0] led       // 7: clock steady; 4: released level; 3..0: the nodes' levels
);
    wire clk, lock;
    // 12 MHz x (63 + 1) = 768 MHz, within 533 to 1066; / 2^3 = 96 MHz.
    SB_PLL40_CORE #(
        .FEEDBACK_PATH("SIMPLE"), .DIVR(4'd0), .DIVF(7'd63), .DIVQ(3'd3), .FILTER_RANGE(3'd1)
    ) pll_inst (
        .REFERENCECLK(clk_12mhz), .PLLOUTGLOBAL(clk), .LOCK(lock), .RESETB(1'b1), .BYPASS(1'b0)
    );
    board #(.N(4), .ROOT(ROOT)) board_inst (
        .clk(clk), .lock(lock), .from_node(from_node), .to_node(to_node), .up_out(up_out), .down_in(down_in),
        .cs_n(cs_n), .sck(sck), .mosi(mosi), .miso(miso), .irq(irq)
    );
    assign led = {lock, 2'b00, to_node[0], from_node};
endmodule
`default_nettype wire
