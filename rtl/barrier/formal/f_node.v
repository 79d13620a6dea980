// One node of a tree against its contract, for any members, and any children and parent that keep theirs. It starts
// from any state that a dead job can have left at rest. Proved: the node keeps the child's contract upwards and the
// parent's downwards. It never goes up before all members have arrived, and answers within one clock each way.
module f_node #(parameter P = 4) (input wire clk);
    (* anyconst *) wire [P-1:0] member, old_member;
    (* anyseq *) wire [P-1:0] level, live;
    (* anyseq *) wire down_in, begun, start_now;
    reg first = 1'b1, second = 1'b0, started = 1'b0;
    wire start = start_now && !started;
    wire up, down;
    wire [P-1:0] armed;
    wire [P-1:0] seen_member = started || start ? member : old_member;

    hb_node #(.P(P), .ROOT(0), .ARM(1)) stale_node (
        .clk(clk), .rst(1'b0), .start(start), .member(seen_member), .level(level), .down_in(down_in), .up(up),
        .down(down), .armed(armed)
    );

    // Assumed: children and parent keep their contracts; the job begins after the start; the dead job is at rest.
    wire [P-1:0] child_ok;
    wire parent_ok;
    genvar k;
    generate
        for (k = 0; k < P; k = k + 1) begin : g_child
            f_child child (.clk(clk), .begun(begun), .live(live[k]), .level(level[k]), .down(down), .ok(child_ok[k]));
        end
    endgenerate
    f_parent parent (.clk(clk), .begun(begun), .live(started), .level(up), .down(down_in), .ok(parent_ok));
    always @* begin
        assume (&(child_ok | ~(member | old_member)));
        assume (parent_ok);
        assume (!begun || started);
        assume (|member);
        if (first) assume (down == down_in && !begun);
        if (second) assume (up == was_up || was_start);  // the dead job's machine is at rest
    end

    // Guaranteed.
    wire self_ok;
    wire [P-1:0] downward_ok;
    f_child self (.clk(clk), .begun(begun), .live(started), .level(up), .down(down_in), .ok(self_ok));
    generate
        for (k = 0; k < P; k = k + 1) begin : g_down
            f_parent downward (
                .clk(clk), .begun(begun), .live(live[k]), .level(level[k]), .down(down), .ok(downward_ok[k])
            );
        end
    endgenerate
    wire all_arrived = begun && &((live & (level ^ {P{down}})) | ~member);
    reg was_start, was_started, was_all_arrived, was_idle, was_up, was_down_in;
    always @(posedge clk) begin
        {second, first} <= {first, 1'b0};
        was_start <= start;
        started <= started | start;
        {was_started, was_all_arrived, was_up, was_down_in} <= {started, all_arrived, up, down_in};
        was_idle <= up == down;
    end
    wire went_up = !first && was_started && up != was_up;
    always @* begin
        assert (self_ok);
        assert (&(downward_ok | ~member));
        if (started && up != down) assert (all_arrived);                                   // never early
        if (went_up) assert (was_all_arrived);
        if (!first && was_started && was_all_arrived && was_idle) assert (up != was_up);   // one clock up
        if (!first) assert (down == was_down_in);                                          // one clock down
    end

`ifndef MUTANT
    // Invariants on the way (they too are proved). A live child that differs from `down` is armed; an armed one that is
    // not live does not differ. Before the start the dead job's machine stays at rest.
    wire [P-1:0] qualified = (level & armed) | ({P{down}} & ~armed);
    always @* begin
        assert (!started || &(armed | ~live | ~(level ^ {P{down}}) | ~member));
        assert (!started || &(~armed | live | ~(level ^ {P{down}}) | ~member));
        assert (begun || &(~live | ~(level ^ {P{down}}) | ~(member | old_member)));
        if (!first && !started && up == down) assert (!(&((qualified ^ {P{down}}) | ~old_member) && |old_member));
    end
`endif

`ifdef COVER
    reg [1:0] ups = 2'd0;
    always @(posedge clk) if (went_up) ups <= ups + 2'd1;
    always @* assert (!(ups == 2'd2 && &member));
`endif
endmodule
