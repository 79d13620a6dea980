// One interrupt line for B barriers. A release (either edge of `down`) sets the barrier's status bit, and a written one
// clears it. The line is high while an enabled bit is set. A release in the clock of its clearing is kept.
`default_nettype none
module hb_irq #(
    parameter B = 1
) (
    input  wire         clk,
    input  wire         rst,
    input  wire [B-1:0] down,
    input  wire [B-1:0] clear,
    input  wire [B-1:0] enable,
    output wire [B-1:0] status,
    output wire         irq
);
    reg [B-1:0] down_reg = {B{1'b0}};
    reg [B-1:0] status_reg = {B{1'b0}};

    always @(posedge clk)
        if (rst) begin
            down_reg   <= {B{1'b0}};
            status_reg <= {B{1'b0}};
        end else begin
            down_reg   <= down;
            status_reg <= (status_reg & ~clear) | (down ^ down_reg);
        end

    assign status = status_reg;
    assign irq = |(status_reg & enable);
endmodule
`default_nettype wire
