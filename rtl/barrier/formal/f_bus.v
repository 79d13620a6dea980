// End to end with hosts on the register bus beside hosts on pins: rank 0 arrives by TOGGLE writes, rank 1 by its pin,
// after a job that left pin, register and machine anyhow. The group write comes first; same promise as f_flat.
module f_bus (input wire clk);
    (* anyseq *) wire go;
    reg first = 1'b1, second = 1'b1, third = 1'b1;
    wire pin, pin_seen, released, unused_settled;
    wire [1:0] entered_pin;
    wire down, status_seen_bus, status_seen_pin, unused_up, unused_irq;
    wire [31:0] unused_rdata;
    f_hold #(.W(2)) statuses (.clk(clk), .in({2{down}}), .out({status_seen_pin, status_seen_bus}));
    f_hold #(.W(1)) pins (.clk(clk), .in(pin), .out(pin_seen));

    // The bus rank: toggles, then reads until the status equals its own level.
    reg waiting = 1'b0;
    reg status;
    reg [1:0] entered_bus = 2'd0;
    wire arrive = go && !waiting && !third;
    wire released_bus = waiting && status_seen_bus == !status;
    wire write_group = first;
    hb_device #(.P(2), .B(1), .STAGES(1), .SAMPLES(0), .BUS_PORTS(2'b01)) stale_node (
        .clk(clk), .rst(1'b0), .pin_in({pin_seen, 1'b0}), .pin_out(down), .up_out(unused_up), .down_in(1'b0),
        .bus_valid(write_group || arrive), .bus_write(1'b1), .bus_addr(write_group ? 12'h200 : 12'h100),
        .bus_wdata(write_group ? 32'd3 : 32'd1), .bus_rdata(unused_rdata), .irq(unused_irq)
    );
    f_rank rank (
        .clk(clk), .may_start(!third), .may_run(1'b1), .pin_seen(pin_seen), .status_seen(status_seen_pin), .pin(pin),
        .entered(entered_pin), .settled(unused_settled), .released(released)
    );
    reg was_down;
    always @(posedge clk) begin
        {third, second, first} <= {second, first, 1'b0};
        was_down <= down;
        if (arrive) begin
            if (entered_bus == 2'd0 && !started_bus) status <= status_seen_bus;
            started_bus <= 1'b1;
            entered_bus <= entered_bus + 2'd1;
            waiting <= 1'b1;
        end else if (go && released_bus) begin
            waiting <= 1'b0;
            status <= !status;
        end
    end
    reg started_bus = 1'b0;
    always @* if (second && !first) assume (down == was_down);  // the dead job's machine is at rest
    wire [1:0] bus_ahead = entered_bus - entered_pin;
    wire [1:0] pin_ahead = entered_pin - entered_bus;
    always @* begin
        if (released_bus) assert (pin_ahead == 2'd0 || pin_ahead == 2'd1);
        if (released) assert (bus_ahead == 2'd0 || bus_ahead == 2'd1);
    end
`ifdef COVER
    always @* assert (!(released && entered_pin == 2'd3));
`endif
endmodule
