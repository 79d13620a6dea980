// One rank's software, at any speed, running H06's protocol (slide 15): read the status once, toggle, write, read until
// toggled. Its pin starts at whatever level a dead job has left.
//
//     WRITE_BACK = 0   H06 as printed: the first write is already an arrival
//     WRITE_BACK = 1   the safe start-up: write the status back, hold it until the device has seen it, then begin
module f_rank #(parameter WRITE_BACK = 1) (
    input  wire       clk,
    input  wire       may_start,   // the launcher has started this job
    input  wire       may_run,     // a synchronisation outside the device is over (constant 1 where none is needed)
    input  wire       pin_seen,    // what the device's synchroniser shows (stands for the hold time)
    input  wire       status_seen,
    output reg        pin,
    output reg  [1:0] entered,     // barriers entered, modulo 4
    output wire       settled,
    output wire       inside,      // in a barrier, released or not
    output wire       released     // this rank leaves the barrier that it entered last
);
    localparam OFF = 2'd0, SETTLE = 2'd1, READY = 2'd2, WAIT = 2'd3;
    (* anyseq *) wire go;
    reg [1:0] state = OFF;
    reg status;  // the level this rank was released at last
    initial entered = 2'd0;

    assign settled = state == READY || state == WAIT || (state == SETTLE && pin == pin_seen);
    assign inside = state == WAIT;
    assign released = state == WAIT && status_seen == pin;

    always @(posedge clk)
        if (go) case (state)
            OFF: if (may_start) begin
                status <= status_seen;
                if (WRITE_BACK != 0) pin <= status_seen;
                state <= WRITE_BACK != 0 ? SETTLE : READY;
            end
            SETTLE: if (settled && may_run) state <= READY;
            READY: begin
                pin <= !status;
                status <= !status;
                entered <= entered + 2'd1;
                state <= WAIT;
            end
            WAIT: if (released) state <= READY;
        endcase
endmodule
