// The receiving end of W wires from another clock domain: synchroniser, then glitch filter.
// An input that stays put for STAGES + SAMPLES clocks is at the output.
`default_nettype none
module hb_link #(
    parameter W = 1,
    parameter STAGES = 2,
    parameter SAMPLES = 3
) (
    input  wire         clk,
    input  wire [W-1:0] async_in,
    output wire [W-1:0] out
);
    wire [W-1:0] sync;
    hb_sync #(.W(W), .STAGES(STAGES)) sync_inst (.clk(clk), .async_in(async_in), .sync_out(sync));
    hb_filter #(.W(W), .SAMPLES(SAMPLES)) filter_inst (.clk(clk), .in(sync), .out(out));
endmodule
`default_nettype wire
