// Stream of beats through a pipeline of STAGES registers that adds one in each, into a FIFO of 2**DEPTH_LOG2 entries.
// A beat enters only with a place in the FIFO reserved for it, so the pipeline never stalls. A beat taken in cycle t is
// offered in cycle t + STAGES + 1. At most one beat is taken per INTERVAL cycles.
module adder_pipeline #(
    parameter WIDTH = 72,
    parameter STAGES = 3,
    parameter INTERVAL = 1,
    parameter DEPTH_LOG2 = 3
) (
    input wire clk,
    input wire rst,
    input wire in_valid,
    output wire in_ready,
    input wire [WIDTH-1:0] in_payload,
    output wire out_valid,
    input wire out_ready,
    output wire [WIDTH-1:0] out_payload,
    output reg [15:0] accepted
);
    localparam DEPTH = 1 << DEPTH_LOG2;
    reg [WIDTH-1:0] stage [0:STAGES-1];
    reg [STAGES-1:0] full;
    reg [WIDTH-1:0] fifo [0:DEPTH-1];
    reg [DEPTH_LOG2-1:0] head, tail;
    reg [DEPTH_LOG2:0] level, reserved;
    reg [7:0] pause;
    wire take = in_valid & in_ready;
    wire give = out_valid & out_ready;
    integer k;

    assign in_ready = (reserved != DEPTH) & (pause == 0);
    assign out_valid = level != 0;
    assign out_payload = fifo[head];

    always @(posedge clk) begin
        full <= {full[STAGES-2:0], take};
        stage[0] <= in_payload + 1;
        for (k = 1; k < STAGES; k = k + 1)
            stage[k] <= stage[k-1] + 1;
        if (full[STAGES-1]) begin
            fifo[tail] <= stage[STAGES-1];
            tail <= tail + 1;
        end
        if (give)
            head <= head + 1;
        level <= level + full[STAGES-1] - give;
        reserved <= reserved + take - give;
        if (take)
            pause <= INTERVAL - 1;
        else if (pause != 0)
            pause <= pause - 1;
        accepted <= accepted + take;
        if (rst) begin
            accepted <= 0;
            full <= 0;
            head <= 0;
            tail <= 0;
            level <= 0;
            reserved <= 0;
            pause <= 0;
        end
    end
endmodule
