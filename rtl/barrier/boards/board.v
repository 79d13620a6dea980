// A board with wires to N nodes: hb_board, an output pad for each node, and a reset until the clock is steady. The
// vendor's clock and pads are around it (hx8k.v, ulx3s.v).
`default_nettype none
module board #(
    parameter N = 4,
    parameter ROOT = 1,
    parameter STAGES = 3
) (
    input  wire         clk,
    input  wire         lock,       // the clock is steady
    input  wire [N-1:0] from_node,  // OUT of each node
    output wire [N-1:0] to_node,    // IN of each node
    output wire         up_out,
    input  wire         down_in,
    input  wire         cs_n,
    input  wire         sck,
    input  wire         mosi,
    output wire         miso,
    output wire         irq
);
    wire steady, pin_out;
    hb_sync #(.W(1), .STAGES(STAGES)) lock_inst (.clk(clk), .async_in(lock), .sync_out(steady));
    hb_board #(.P(N), .ROOT(ROOT), .STAGES(STAGES)) board_inst (
        .clk(clk), .rst(~steady), .pin_in(from_node), .pin_out(pin_out), .up_out(up_out), .down_in(down_in),
        .cs_n(cs_n), .sck(sck), .mosi(mosi), .miso(miso), .irq(irq)
    );
    assign to_node = {N{pin_out}};
endmodule
`default_nettype wire
