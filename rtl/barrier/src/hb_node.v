// One barrier in one device: the C-element over P children behind the start-up guard, and the two-phase handshake
// with the parent. State goes up as `up` (every child has arrived) and comes down as `down` (released); a root
// releases itself. H06 slide 16: AND/OR tree, propagating state up and down, two-state principle.
`default_nettype none
module hb_node #(
    parameter P = 4,
    parameter ROOT = 1,
    parameter ARM = 1
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         start,    // one clock: the group is (re)defined, all children are disarmed
    input  wire [P-1:0] member,
    input  wire [P-1:0] level,    // of the children, synchronised
    input  wire         down_in,  // of the parent, synchronised (unused by a root)
    output wire         up,
    output wire         down,
    output wire [P-1:0] armed
);
    wire [P-1:0] qualified;

    hb_arm #(.P(P), .ENABLE(ARM)) arm_inst (
        .clk(clk), .rst(rst), .start(start), .idle(down), .level(level), .qualified(qualified), .armed(armed)
    );

    hb_celement #(.P(P)) celement_inst (
        .clk(clk), .rst(rst), .load(start), .load_value(down), .member(member), .in(qualified), .out(up)
    );

    generate
        if (ROOT != 0) begin : g_root
            wire unused_down_in = down_in;
            assign down = up;
        end else begin : g_inner
            reg down_reg = 1'b0;
            always @(posedge clk)
                if (rst) down_reg <= 1'b0;
                else down_reg <= down_in;
            assign down = down_reg;
        end
    endgenerate
endmodule
`default_nettype wire
