// From power-on, and from any reset on, under any inputs and whatever the memory holds. No port is moved before one has
// been seen at rest, so that earlier arrivals do not count.
module f_groups_start #(parameter P = 3, parameter BITS = 1) (input wire clk);
    (* anyseq *) wire rst, group_write;
    (* anyseq *) wire [P-1:0] level, members;
    (* anyseq *) wire [P*BITS-1:0] select;
    (* anyseq *) wire [BITS-1:0] number;
    wire [P-1:0] released;
    wire busy;

    hb_groups #(.P(P), .BITS(BITS)) groups (
        .clk(clk), .rst(rst), .level(level), .select(select), .released(released), .group_write(group_write),
        .group_number(number), .group_members(members), .group_busy(busy)
    );

    reg first = 1'b1;
    reg [P-1:0] seen = {P{1'b0}}, was_seen, was_released;
    always @(posedge clk) begin
        first <= 1'b0;
        seen <= rst ? {P{1'b0}} : seen | (level ~^ released);
        {was_seen, was_released} <= {seen, released};
    end
    always @* assert (first || released == was_released || |was_seen);

`ifdef COVER
    // All are moved, and moved again after a reset.
    reg reset = 1'b0;
    always @(posedge clk) reset <= reset | (rst & released[0]);
    always @* assert (!(reset && !first && was_released == {P{1'b1}} && released == {P{1'b0}}));
`endif
endmodule
