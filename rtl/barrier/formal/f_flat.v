// End to end, one device: P ranks with slow wires around one node, any member mask, anything left in pins and
// registers. Claim: no rank leaves its n-th barrier before every member has entered its n-th.
//
//     START = 0   H06 as printed on the bare machine (unsafe: the kept counterexample)
//     START = 1   bare machine, ranks write the status back and synchronise once outside the device
//     START = 3   bare machine, written back but not synchronised (unsafe too: why START = 1 needs both)
//     START = 2   guarded machine: a group write before the ranks start, write-back, no outside synchronisation
module f_flat #(parameter P = 2, parameter START = 2) (input wire clk);
    (* anyconst *) wire [P-1:0] member;
    (* anyseq *) wire [P-1:0] stray;  // pins of ports outside the group
    reg first = 1'b1;
    always @(posedge clk) first <= 1'b0;

    wire [P-1:0] pin, pin_seen, status_seen, settled, released, unused_armed;
    wire [2*P-1:0] entered;
    wire up, down;
    wire start = START == 2 && first;
    wire all_settled = &(settled | ~member);

    f_hold #(.W(P)) pins (.clk(clk), .in(pin), .out(pin_seen));
    f_hold #(.W(P)) statuses (.clk(clk), .in({P{down}}), .out(status_seen));

    hb_node #(.P(P), .ROOT(1), .ARM(START == 2)) stale_node (
        .clk(clk), .rst(1'b0), .start(start), .member(member), .level((pin_seen & member) | (stray & ~member)),
        .down_in(1'b0), .up(up), .down(down), .armed(unused_armed)
    );

    always @* begin
        assume (|member);
        if (first && START != 2) assume (|((pin ~^ {P{down}}) & member));
    end

    genvar k, j;
    generate
        for (k = 0; k < P; k = k + 1) begin : g_rank
            f_rank #(.WRITE_BACK(START != 0)) rank (
                .clk(clk), .may_start(member[k] && !first), .may_run(START != 1 || all_settled),
                .pin_seen(pin_seen[k]), .status_seen(status_seen[k]), .pin(pin[k]), .entered(entered[2*k+:2]),
                .settled(settled[k]), .released(released[k])
            );
            for (j = 0; j < P; j = j + 1) begin : g_pair
                wire [1:0] ahead = entered[2*j+:2] - entered[2*k+:2];
                always @* if (released[k] && member[j]) assert (ahead == 2'd0 || ahead == 2'd1);
            end
        end
    endgenerate

`ifdef COVER
    // Not vacuous: all ports are members, were stale where they could be, and one rank has passed two barriers.
    reg [P-1:0] stale;
    always @(posedge clk) if (first) stale <= pin ^ {P{down}};
    always @* assert (!(!first && &member && |stale && released[0] && entered[1:0] == 2'd2));
`endif
endmodule
