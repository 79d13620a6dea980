// End to end, a tree of devices: four ranks on two devices under a root, every wire slow, stale pins and machines. It
// checks the composition of the contracts whole, at the size that a flat proof can hold. No rank leaves its n-th
// barrier before every member has entered its n-th. STAGGERED: each device is started at a time of its own, for the
// mutants. (That this is safe follows from the node's contract, where the start comes at any time.)
module f_tree #(parameter STAGGERED = 0) (input wire clk);
    (* anyconst *) wire [3:0] member;
    (* anyseq *) wire [2:0] start_now;
    reg first = 1'b1, second = 1'b0;
    reg [2:0] started = 3'd0;
    reg [2:0] was_start, was_up;
    wire [2:0] start = (STAGGERED != 0 ? start_now : 3'b111) & ~started;
    wire [3:0] pin, pin_seen, status_seen, settled, released, unused_armed;
    wire [1:0] unused_root_armed;
    wire [7:0] entered;
    wire [2:0] up, down;  // 0 the root, 1 over ranks 0 and 1, 2 over ranks 2 and 3
    wire [1:0] up_seen, down_seen, present;
    assign present = {|member[3:2], |member[1:0]};

    f_hold #(.W(4)) pins (.clk(clk), .in(pin), .out(pin_seen));
    f_hold #(.W(4)) statuses (.clk(clk), .in({{2{down[2]}}, {2{down[1]}}}), .out(status_seen));
    f_hold #(.W(2)) ups (.clk(clk), .in(up[2:1]), .out(up_seen));
    f_hold #(.W(2)) downs (.clk(clk), .in({2{down[0]}}), .out(down_seen));

    hb_node #(.P(2), .ROOT(1)) stale_root (
        .clk(clk), .rst(1'b0), .start(start[0]), .member(present), .level(up_seen), .down_in(1'b0), .up(up[0]),
        .down(down[0]), .armed(unused_root_armed)
    );
    genvar n, k, j;
    generate
        for (n = 0; n < 2; n = n + 1) begin : g_node
            hb_node #(.P(2), .ROOT(0)) stale_node (
                .clk(clk), .rst(1'b0), .start(start[n+1]), .member(member[2*n+:2]), .level(pin_seen[2*n+:2]),
                .down_in(down_seen[n]), .up(up[n+1]), .down(down[n+1]), .armed(unused_armed[2*n+:2])
            );
            always @* if (first) assume (down_seen[n] == down[n+1]);
        end
        for (k = 0; k < 4; k = k + 1) begin : g_rank
            f_rank rank (
                .clk(clk), .may_start(member[k] && &started && up[2:1] == up_seen), .may_run(1'b1),
                .pin_seen(pin_seen[k]), .status_seen(status_seen[k]), .pin(pin[k]), .entered(entered[2*k+:2]),
                .settled(settled[k]), .released(released[k])
            );
            for (j = 0; j < 4; j = j + 1) begin : g_pair
                wire [1:0] ahead = entered[2*j+:2] - entered[2*k+:2];
                always @* if (released[k] && member[j]) assert (ahead == 2'd0 || ahead == 2'd1);
            end
        end
    endgenerate
    always @(posedge clk) begin
        {second, first} <= {first, 1'b0};
        {was_start, was_up} <= {start, up};
        started <= started | start;
    end
    always @* assume (&member);  // masks: f_flat and f_node
    // What the dead job left, wires and machines, has come to rest.
    always @* if (second) assume (&(up ~^ was_up | was_start));
`ifdef COVER
    reg [3:0] stale;
    always @(posedge clk) if (first) stale <= pin ^ {4{down[1]}};
    always @* assert (!(!first && &member && |stale && released[0] && entered[1:0] == 2'd2));
`endif
endmodule
