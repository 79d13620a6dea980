// The claims of f_groups and f_group_device about their ranks, inside their modules. No port is released before every
// member of its group has arrived at that very group. Once the last has, all are released within BOUND clocks. `stale`
// and `releases` are for covers: whether a pin was wrong at first, and the number of releases.
    // All members of group g, which has some, are inside a barrier of g.
    reg [G-1:0] all_in;
    integer g, p;
    always @*
        for (g = 0; g < G; g = g + 1) begin
            all_in[g] = |member[g*P+:P];
            for (p = 0; p < P; p = p + 1)
                if (member[g*P+p] && !(inside[p] && select[p*BITS+:BITS] == g[BITS-1:0])) all_in[g] = 1'b0;
        end

    reg first = 1'b1;
    reg [P-1:0] was_released, was_inside;
    reg [P*BITS-1:0] was_select;
    reg [G-1:0] was_all_in;
    reg [7:0] waited = 8'd0;
    always @(posedge clk) begin
        first <= 1'b0;
        {was_released, was_inside, was_select, was_all_in} <= {released, inside, select, all_in};
        waited <= |(all_in & was_all_in) && released == was_released ? waited + 8'd1 : 8'd0;
    end
    integer q;
    always @* if (!first) begin
        for (q = 0; q < P; q = q + 1)
            if (released[q] != was_released[q] && begun) begin
                assert (was_inside[q]);
                assert (was_all_in[was_select[q*BITS+:BITS]]);
            end
        assert (waited <= BOUND);
    end

`ifdef COVER
    reg [1:0] releases = 2'd0;
    reg stale = 1'b0;
    always @(posedge clk) begin
        if (first) stale <= |(pin ^ released);
        if (!first && released != was_released && begun && releases != 2'd3) releases <= releases + 2'd1;
    end
`endif
