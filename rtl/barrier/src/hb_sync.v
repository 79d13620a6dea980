// Brings W asynchronous wires into this clock: STAGES flip-flops in a row, the first of which may go metastable.
// Each wire is independent (levels, not a bus): the protocol changes one wire at a time and holds it (H06 slide 15).
`default_nettype none
module hb_sync #(
    parameter W = 1,
    parameter STAGES = 2
) (
    input  wire         clk,
    input  wire [W-1:0] async_in,
    output wire [W-1:0] sync_out
);
    // The attribute keeps tools from sharing, moving or absorbing these flip-flops; crossings.py asks for it.
    (* ASYNC_REG = "TRUE" *) reg [W*STAGES-1:0] chain_reg = {W * STAGES{1'b0}};

    generate
        if (STAGES > 1) begin : g_chain
            always @(posedge clk) chain_reg <= {chain_reg[W*(STAGES-1)-1:0], async_in};
        end else begin : g_single
            always @(posedge clk) chain_reg <= async_in;
        end
    endgenerate

    assign sync_out = chain_reg[W*STAGES-1-:W];
endmodule
`default_nettype wire
