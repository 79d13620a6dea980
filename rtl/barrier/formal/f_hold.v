// A wire into another clock domain, at its worst: it may hold the old value for any number of cycles, each wire
// apart. It starts settled.
module f_hold #(parameter W = 1) (input wire clk, input wire [W-1:0] in, output reg [W-1:0] out);
    (* anyseq *) wire [W-1:0] hold;
    reg first = 1'b1;
    always @(posedge clk) begin
        first <= 1'b0;
        out <= (hold & out) | (~hold & in);
    end
    always @* if (first) assume (out == in);
endmodule
