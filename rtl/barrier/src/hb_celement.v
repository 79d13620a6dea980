// H06's two-state machine (slide 14) for P inputs, a Muller C-element with members:
//     out' = out ? OR(in over members) : AND(in over members)
// Inputs outside `member` count for nothing; without a member the output rests at 0. `load` sets the state (start-up).
`default_nettype none
module hb_celement #(
    parameter P = 4
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         load,
    input  wire         load_value,
    input  wire [P-1:0] member,
    input  wire [P-1:0] in,
    output wire         out
);
    reg out_reg = 1'b0;
    wire all_one = &(in | ~member) & |member;
    wire any_one = |(in & member);
    wire out_next = out_reg ? any_one : all_one;

    always @(posedge clk)
        if (rst) out_reg <= 1'b0;
        else if (load) out_reg <= load_value;
        else out_reg <= out_next;

    assign out = out_reg;
endmodule
`default_nettype wire
