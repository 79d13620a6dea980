// H06's two-state machine alone, every input a member: what slide 14 counts gates of. The board around it has more.
`default_nettype none
module gates #(
    parameter P = 4
) (
    input  wire         clk,
    input  wire [P-1:0] in,
    output wire         out
);
    hb_celement #(.P(P)) machine_inst (
        .clk(clk), .rst(1'b0), .load(1'b0), .load_value(1'b0), .member({P{1'b1}}), .in(in), .out(out)
    );
endmodule
`default_nettype wire
