// Boards as docs/barrier.md wires them beyond one board's pins: INNER boards, each of P ranks, below a root. The root's
// pin_out goes to every inner board's down_in, each inner board's up_out to a pin_in of the root. Every board has a
// clock of its own. For the bench only.
`default_nettype none
module boards #(
    parameter P = 2,
    parameter B = 1,
    parameter INNER = 2
) (
    input  wire                   root_clk,
    input  wire                   a_clk,
    input  wire                   b_clk,
    input  wire [INNER*B*P-1:0]   pin_in,
    output wire [INNER*B-1:0]     pin_out,
    input  wire [INNER:0]         cs_n,
    input  wire                   sck,
    input  wire                   mosi,
    output wire [INNER:0]         miso,
    output wire [INNER:0]         irq
);
    wire [2:0] clk = {b_clk, a_clk, root_clk};
    wire [INNER*B-1:0] up;
    wire [B*INNER-1:0] root_in;
    wire [B-1:0] root_out, unused_up;

    hb_board #(.P(INNER), .B(B)) root (
        .clk(clk[0]), .rst(1'b0), .pin_in(root_in), .pin_out(root_out), .up_out(unused_up), .down_in({B{1'b0}}),
        .cs_n(cs_n[0]), .sck(sck), .mosi(mosi), .miso(miso[0]), .irq(irq[0])
    );
    genvar n, b;
    generate
        for (n = 0; n < INNER; n = n + 1) begin : g_inner
            hb_board #(.P(P), .B(B), .ROOT(0)) board (
                .clk(clk[n+1]), .rst(1'b0), .pin_in(pin_in[n*B*P+:B*P]), .pin_out(pin_out[n*B+:B]), .up_out(up[n*B+:B]),
                .down_in(root_out), .cs_n(cs_n[n+1]), .sck(sck), .mosi(mosi), .miso(miso[n+1]), .irq(irq[n+1])
            );
            for (b = 0; b < B; b = b + 1) begin : g_wire
                assign root_in[b*INNER+n] = up[n*B+b];
            end
        end
    endgenerate
endmodule
`default_nettype wire
