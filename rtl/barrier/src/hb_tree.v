// A complete tree of barrier nodes, DEPTH levels of RADIX children, joined by links: one barrier over
// RADIX**DEPTH ranks beyond the pins of one device. Nodes are numbered as in a heap (0 the root, the children of n
// RADIX*n+1 ...). DEPTH = 1 is one device.
`default_nettype none
module hb_tree #(
    parameter RADIX = 4,
    parameter DEPTH = 2,
    parameter ARM = 1,
    parameter STAGES = 2,
    parameter SAMPLES = 3,
    parameter LEAVES = RADIX ** DEPTH,
    parameter NODES = (RADIX ** DEPTH - 1) / (RADIX - 1),
    parameter LAST = NODES - RADIX ** (DEPTH - 1)  // the first of the nodes that have ranks as children
) (
    input  wire                         clk,
    input  wire                         rst,
    input  wire [NODES-1:0]             start,
    input  wire [LEAVES-1:0]            member,
    input  wire [LEAVES-1:0]            pin_in,
    output wire [RADIX**(DEPTH-1)-1:0]  pin_out  // of each node that has ranks, wired to all of its ranks
);
    // Index k: child k-1 counted over all nodes; node k for k < NODES, rank k-NODES beyond.
    wire [NODES+LEAVES-1:0] level, seen;
    wire [NODES-1:0] up, down, down_seen;
    reg [NODES+LEAVES-1:0] present;  // has a member at or below it

    assign level = {pin_in, up};
    integer k;
    always @* begin
        present[NODES+:LEAVES] = member;
        for (k = NODES - 1; k >= 0; k = k - 1) present[k] = |present[RADIX*k+1+:RADIX];
    end
    assign seen[0] = 1'b0;
    assign down_seen[0] = 1'b0;

    genvar n;
    generate
        for (n = 0; n < NODES; n = n + 1) begin : g_node
            wire [RADIX-1:0] unused_armed;
            hb_link #(.W(RADIX), .STAGES(STAGES), .SAMPLES(SAMPLES)) children_inst (
                .clk(clk), .async_in(level[RADIX*n+1+:RADIX]), .out(seen[RADIX*n+1+:RADIX])
            );
            if (n > 0) begin : g_inner
                hb_link #(.W(1), .STAGES(STAGES), .SAMPLES(SAMPLES)) parent_inst (
                    .clk(clk), .async_in(down[(n-1)/RADIX]), .out(down_seen[n])
                );
            end
            hb_node #(.P(RADIX), .ROOT(n == 0), .ARM(ARM)) node_inst (
                .clk(clk), .rst(rst), .start(start[n]), .member(present[RADIX*n+1+:RADIX]),
                .level(seen[RADIX*n+1+:RADIX]), .down_in(down_seen[n]), .up(up[n]), .down(down[n]), .armed(unused_armed)
            );
            if (n >= LAST) begin : g_last
                assign pin_out[n-LAST] = down[n];
            end
        end
    endgenerate
    wire unused = &{present[0], level[0], seen[0]};
endmodule
`default_nettype wire
