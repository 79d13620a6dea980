// A whole device with its register bus, pins, links and uplink. Rank 0 is a host on the bus, rank 1 on a pin, below any
// parent that keeps its contract (ROOT = 0) or none. The dead job may have left anything in registers and wires. A
// reset may come before the group is written (RESET = 1). Proved:
//
// - No rank leaves its n-th barrier before every member has entered its n-th.
// - Upwards the device keeps the child's contract and asks only when all its members have arrived.
// - LIVE: all members wait, and the parent answers within SLOW clocks. Then they are released within a bound, if no
//   wire holds an old value for longer than HOLD clocks.
module f_device #(
    parameter ROOT = 0, parameter LIVE = 0, parameter HOLD = 1, parameter SLOW = 2, parameter RESET = 0
) (input wire clk);
    (* anyconst *) wire [1:0] member;
    (* anyseq *) wire go, down_in;
    // The start: perhaps a reset, the group's write, a clock for its effect, then the ranks.
    reg [2:0] age = 3'd0;
    wire rst = RESET != 0 && age == 3'd0;
    wire write_group = age == 3'd1;
    wire started = age >= 3'd3;
    wire pin, pin_seen, released_pin, inside, unused_settled;
    wire [1:0] entered_pin;
    wire down, status_seen_bus, status_seen_pin, up, unused_irq;
    wire [31:0] unused_rdata;
    f_hold #(.W(2), .MAX(LIVE != 0 ? HOLD : 0)) statuses (.clk(clk), .in({2{down}}), .out({status_seen_pin, status_seen_bus}));
    f_hold #(.W(1), .MAX(LIVE != 0 ? HOLD : 0)) pins (.clk(clk), .in(pin), .out(pin_seen));

    // The bus rank: toggles, then reads until the status equals its own level.
    reg waiting = 1'b0, begun_bus = 1'b0;
    reg status;
    reg [1:0] entered_bus = 2'd0;
    wire arrive = go && !waiting && started && member[0];
    wire released_bus = waiting && status_seen_bus == !status;
    always @(posedge clk)
        if (arrive) begin
            if (!begun_bus) status <= status_seen_bus;
            begun_bus <= 1'b1;
            entered_bus <= entered_bus + 2'd1;
            waiting <= 1'b1;
        end else if (go && released_bus) begin
            waiting <= 1'b0;
            status <= !status;
        end

    hb_device #(.P(2), .B(1), .ROOT(ROOT), .STAGES(1), .SAMPLES(0), .BUS_PORTS(2'b01)) stale_node (
        .clk(clk), .rst(rst), .pin_in({pin_seen, 1'b0}), .pin_out(down), .up_out(up), .down_in(down_in),
        .bus_valid(write_group || arrive), .bus_write(1'b1), .bus_addr(write_group ? 12'h200 : 12'h100),
        .bus_wdata(write_group ? {30'd0, member} : 32'd1), .bus_rdata(unused_rdata), .irq(unused_irq)
    );
    f_rank rank (
        .clk(clk), .may_start(started && member[1]), .may_run(1'b1), .pin_seen(pin_seen), .status_seen(status_seen_pin),
        .pin(pin), .entered(entered_pin), .settled(unused_settled), .inside(inside), .released(released_pin)
    );

    // The parent: any that keeps its contract. Before the start the dead job is at rest.
    wire parent_ok, self_ok;
    f_parent parent (.clk(clk), .begun(started), .live(started), .level(up), .down(down_in), .ok(parent_ok));
    f_child self (.clk(clk), .begun(started), .live(started), .level(up), .down(down_in), .ok(self_ok));
    reg first = 1'b1;
    reg was_down, was_down_in, was_up;
    always @(posedge clk) begin
        first <= 1'b0;
        if (age != 3'd3) age <= age + 3'd1;
        {was_down, was_down_in, was_up} <= {down, down_in, up};
    end
    always @* begin
        assume (|member);
        // At rest: machine, parent and what the links of this device show. A reset takes the released level to 0, so
        // the launcher resets no device below a parent that shows 1.
        if (!started) begin
            assume (ROOT != 0 || (down == down_in && (!first || up == down)));
            if (!first) assume (ROOT == 0 ? down_in == was_down_in : age < 3'd2 || down == was_down);
            if (RESET != 0) assume (ROOT != 0 || !down_in);
            if (age == 3'd2) assume (status_seen_bus == down && status_seen_pin == down);
        end
        if (ROOT == 0) assume (parent_ok);
    end

    // Whoever waits has asked; nobody is early.
    wire [1:0] bus_ahead = entered_bus - entered_pin;
    wire [1:0] pin_ahead = entered_pin - entered_bus;
    wire all_wait = (waiting && !released_bus || !member[0]) && (inside && !released_pin || !member[1])
        && (!member[0] || !member[1] || entered_bus == entered_pin) && started;
    reg [5:0] waited = 6'd0, asked = 6'd0;
    localparam BOUND = 2 * HOLD + 6 + (ROOT != 0 ? 0 : SLOW + 3);
    always @(posedge clk) begin
        waited <= all_wait ? waited + 6'd1 : 6'd0;
        asked <= started && up != down_in ? asked + 6'd1 : 6'd0;
    end
    always @* begin
        if (&member && released_bus) assert (pin_ahead == 2'd0 || pin_ahead == 2'd1);
        if (&member && released_pin) assert (bus_ahead == 2'd0 || bus_ahead == 2'd1);
        if (ROOT == 0 && started) assert (self_ok);
        if (ROOT == 0 && started && up != down_in && &member) assert (waiting && inside && entered_bus == entered_pin);
        if (LIVE != 0) begin
            if (ROOT == 0) assume (asked <= SLOW);
            assert (waited <= BOUND);
        end
    end
`ifdef COVER
    always @* assert (!(entered_pin == 2'd3 && released_pin && &member));
`endif
endmodule
