// A wire into another clock domain, at its worst: it may hold the old value for any number of cycles, each wire
// apart. It starts settled. MAX: a fair wire shows a value that stays put after at most so many clocks (0: no limit).
module f_hold #(parameter W = 1, parameter MAX = 0) (input wire clk, input wire [W-1:0] in, output reg [W-1:0] out);
    (* anyseq *) wire [W-1:0] hold;
    reg first = 1'b1;
    always @(posedge clk) begin
        first <= 1'b0;
        out <= (hold & out) | (~hold & in);
    end
    always @* if (first) assume (out == in);
    genvar k;
    generate
        if (MAX != 0) begin : g_fair
            for (k = 0; k < W; k = k + 1) begin : g_wire
                reg [3:0] held = 4'd0;  // clocks for which the far end has differed
                always @(posedge clk) held <= hold[k] && out[k] != in[k] ? held + 4'd1 : 4'd0;
                always @* assume (held <= MAX);
            end
        end
    endgenerate
endmodule
