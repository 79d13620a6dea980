// A pair of wires that may hold old values for any time keeps the handshake. A child that keeps its contract at the
// near end keeps it at the far end, and so does the parent the other way. So trees may span clocks and cables.
module f_link (input wire clk);
    (* anyseq *) wire level, live, down, begun;
    wire level_far, down_near;
    f_hold #(.W(1)) upward (.clk(clk), .in(level), .out(level_far));
    f_hold #(.W(1)) downward (.clk(clk), .in(down), .out(down_near));

    // At the far end the child is live once its write-back has come through (the hold time of the start-up).
    reg first = 1'b1, arrived_live = 1'b0;
    wire live_far = arrived_live || (live && level_far == level);
    always @(posedge clk) begin
        first <= 1'b0;
        arrived_live <= live_far;
    end

    wire near_ok, far_ok, parent_near_ok, parent_far_ok;
    wire may_arrive = begun && live_far;
    f_child near (.clk(clk), .begun(may_arrive), .live(live), .level(level), .down(down_near), .ok(near_ok));
    f_parent far_parent (.clk(clk), .begun(begun), .live(live_far), .level(level_far), .down(down), .ok(parent_far_ok));
    f_child far (.clk(clk), .begun(may_arrive), .live(live_far), .level(level_far), .down(down), .ok(far_ok));
    f_parent near_parent (.clk(clk), .begun(begun), .live(live), .level(level), .down(down_near), .ok(parent_near_ok));
    always @* begin
        assume (near_ok && parent_far_ok);
        assert (far_ok);
        assert (parent_near_ok);
    end

`ifdef COVER
    reg [1:0] trips = 2'd0;
    reg was_down;
    always @(posedge clk) begin
        was_down <= down_near;
        if (!first && down_near != was_down) trips <= trips + 2'd1;
    end
    always @* assert (trips != 2'd2);
`endif
endmodule
