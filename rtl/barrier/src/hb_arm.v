// The start-up guard, which removes the stale-pin hazard of H06's protocol. A job that died may leave a pin at the
// level that means "arrived". `idle` is the level at which a port's rank was last released. So after `start` an input
// counts as not arrived (it reads as `idle`) until it has been seen at `idle` once. A level that no live rank has yet
// written can never complete a barrier.
`default_nettype none
module hb_arm #(
    parameter P = 4,
    parameter ENABLE = 1  // 0: H06's bare machine, every input is believed
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         start,
    input  wire         idle,
    input  wire [P-1:0] level,
    output wire [P-1:0] qualified,
    output wire [P-1:0] armed
);
    generate
        if (ENABLE != 0) begin : g_arm
            reg [P-1:0] armed_reg = {P{1'b0}};
            always @(posedge clk)
                if (rst || start) armed_reg <= {P{1'b0}};
                else armed_reg <= armed_reg | (level ~^ {P{idle}});
            assign armed = armed_reg;
            assign qualified = (level & armed_reg) | ({P{idle}} & ~armed_reg);
        end else begin : g_bare
            wire unused_inputs = &{clk, rst, start, idle};
            assign armed = {P{1'b1}};
            assign qualified = level;
        end
    endgenerate
endmodule
`default_nettype wire
