// Rejects glitches on W synchronised wires: the output takes a new value only after SAMPLES equal samples in a row
// (a C-element over time). A pulse shorter than SAMPLES clocks never passes. SAMPLES = 1 only registers the wire,
// SAMPLES = 0 passes it through.
`default_nettype none
module hb_filter #(
    parameter W = 1,
    parameter SAMPLES = 3
) (
    input  wire         clk,
    input  wire [W-1:0] in,
    output wire [W-1:0] out
);
    generate
        if (SAMPLES == 0) begin : g_pass
            wire unused_clk = clk;
            assign out = in;
        end else if (SAMPLES == 1) begin : g_register
            reg [W-1:0] out_reg = {W{1'b0}};
            always @(posedge clk) out_reg <= in;
            assign out = out_reg;
        end else begin : g_filter
            reg [W*(SAMPLES-1)-1:0] past_reg = {W * (SAMPLES - 1) {1'b0}};
            reg [W-1:0] out_reg = {W{1'b0}};
            reg [W-1:0] all_one, any_one;
            integer j, k;

            always @* begin
                all_one = in;
                any_one = in;
                for (j = 0; j < SAMPLES - 1; j = j + 1) begin
                    all_one = all_one & past_reg[W*j+:W];
                    any_one = any_one | past_reg[W*j+:W];
                end
            end

            always @(posedge clk) begin
                past_reg[W-1:0] <= in;
                for (k = 1; k < SAMPLES - 1; k = k + 1) past_reg[W*k+:W] <= past_reg[W*(k-1)+:W];
                out_reg <= (out_reg & any_one) | all_one;
            end
            assign out = out_reg;
        end
    endgenerate
endmodule
`default_nettype wire
