// Many barriers over few wires, H06's further idea (slide 28): with every toggle a port shows on SELECT which of
// 2**BITS groups it arrives at. Groups live in memory, two words of P bits each: members, and who has arrived. One
// arrival is counted in two clocks, so a barrier takes up to 2P clocks after its last arrival: H06's linear law.
//
// A port's wire pair is H06's protocol: toggle OUT, read IN until it equals OUT. All members' IN are toggled in the
// clock in which the last arrives. A port is in one barrier at a time, so it holds SELECT until it is released.
//
// Start-up: writing a group's members forgets its arrivals and disarms them. A port that then differs from its IN does
// not count until it has been seen equal: each rank writes IN back to OUT. A group is written while none of its members
// is in a barrier.
`default_nettype none
module hb_groups #(
    parameter P = 4,
    parameter BITS = 11
) (
    input  wire              clk,
    input  wire              rst,           // memory survives: write the groups anew
    input  wire [P-1:0]      level,         // OUT of each port, synchronised
    input  wire [P*BITS-1:0] select,        // its group, synchronised; stable before OUT toggles
    output wire [P-1:0]      released,      // IN of each port
    output wire [P-1:0]      armed,         // seen at rest since a group of it was written
    input  wire              group_write,   // taken when group_busy is low
    input  wire [BITS-1:0]   group_number,
    input  wire [P-1:0]      group_members,
    output wire              group_busy
);
    reg [P-1:0] member_mem [0:{BITS{1'b1}}];
    reg [P-1:0] arrived_mem [0:{BITS{1'b1}}];

    // A write that waits for the engine; at power-on none.
    reg write_reg = 1'b0;
    reg [BITS-1:0] write_number_reg;
    reg [P-1:0] write_members_reg;

    // The engine: picks a port and reads its group, then counts it.
    reg count_reg = 1'b0;                   // 1: counting
    reg [P-1:0] port_reg, member_reg, arrived_reg;
    reg [BITS-1:0] group_reg;

    reg [P-1:0] released_reg = {P{1'b0}};
    reg [P-1:0] stale_reg = {P{1'b1}};      // disarmed until seen equal to its IN
    reg [P-1:0] counted_reg;                // waits, and its arrival is in memory; stale_reg covers it at the start

    wire [P-1:0] waiting = level ^ released_reg;
    wire [P-1:0] pending = waiting & ~counted_reg & ~stale_reg;
    wire [P-1:0] port = pending & -pending;  // the lowest
    reg [BITS-1:0] group;
    integer k;
    always @* begin
        group = {BITS{1'b0}};
        for (k = 0; k < P; k = k + 1) group = group | (select[k*BITS+:BITS] & {BITS{port[k]}});
    end

    wire take_write = write_reg & ~count_reg;
    wire take_port = ~write_reg & ~count_reg & |pending;
    wire [P-1:0] arrived = arrived_reg | port_reg;
    // Of the members one is always missing in memory, so an arrival of who is none completes nothing.
    wire complete = ~|(member_reg & ~arrived);
    wire arrived_write = take_write | count_reg;
    wire [BITS-1:0] arrived_address = take_write ? write_number_reg : group_reg;

    always @(posedge clk) begin
        member_reg <= member_mem[group];
        arrived_reg <= arrived_mem[group];
        if (take_write) member_mem[write_number_reg] <= write_members_reg;
        if (arrived_write) arrived_mem[arrived_address] <= take_write | complete ? {P{1'b0}} : arrived;
    end

    always @(posedge clk) begin
        count_reg <= take_port;
        port_reg <= port;
        group_reg <= group;
        counted_reg <= (counted_reg | (count_reg ? port_reg : {P{1'b0}})) & waiting;
        stale_reg <= (stale_reg | (take_write ? write_members_reg : {P{1'b0}})) & waiting;
        // Only who waits is released: a group of a dead job must not move a port that rests.
        if (count_reg & complete) released_reg <= released_reg ^ (member_reg & waiting);
        if (group_write & ~write_reg) begin
            write_reg <= 1'b1;
            write_number_reg <= group_number;
            write_members_reg <= group_members;
        end else if (take_write) write_reg <= 1'b0;
        if (rst) begin
            count_reg <= 1'b0;
            write_reg <= 1'b0;
            stale_reg <= {P{1'b1}};
        end
    end

    assign released = released_reg;
    assign armed = ~stale_reg;
    assign group_busy = write_reg;
endmodule
`default_nettype wire
