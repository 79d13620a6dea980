// The contract of a parent towards a child: `down` moves only to the level at which the child asks for release.
module f_parent (
    input  wire clk,
    input  wire begun,
    input  wire live,
    input  wire level,
    input  wire down,
    output wire ok
);
    reg first = 1'b1;
    reg was_asking, was_level, was_down;
    always @(posedge clk) begin
        first <= 1'b0;
        {was_asking, was_level, was_down} <= {begun && live, level, down};
    end
    assign ok = first || down == was_down || (was_asking && down == was_level);
endmodule
