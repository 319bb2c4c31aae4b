/* Computed torque on a soft core, every 100 us: what a motor controller does with the engine on its bus.
 *
 * Numbers are whole ones of 2^-16 (RBD_FIXED=16 for all files): rad, rad/s, rad/s2, N m. Encoders, setpoints and
 * torques go through the mailbox here; in a machine these are registers too.
 */
#include "rbd_ur5_id_embedded.h"
#include "rbdgen_registers.h"
#include "soc.h"

#define JOINTS 6

/* Of the error's dynamics, e'' + DAMPING e' + STIFFNESS e = 0, in 1/s and 1/s2: critical damping at 40 rad/s. */
#define STIFFNESS 1600
#define DAMPING 80

struct state {
    rbd_number q[JOINTS], v[JOINTS], q_wanted[JOINTS], v_wanted[JOINTS], a_wanted[JOINTS];
};

struct report {
    rbd_number tau[JOINTS];
    int32_t said;          /* what the call returned */
    uint32_t call, period; /* cycles of the call, and from the state to torques */
};

int main(void)
{
    struct rbd_registers registers;
    struct rbd_device device = {rbd_registers_exchange, &registers, 0};
    const int32_t opened = rbd_registers_open(&registers, SOC_ACCELERATOR, &rbd_ur5_id_identity);
    soc_send(&opened, sizeof opened);
    for (;;) {
        struct state state;
        struct report report;
        rbd_number a[JOINTS];
        soc_receive(&state, sizeof state);
        const uint32_t begin = SOC_CYCLES;
        for (int k = 0; k < JOINTS; k++)
            a[k] = state.a_wanted[k] + STIFFNESS * (state.q_wanted[k] - state.q[k]) +
                   DAMPING * (state.v_wanted[k] - state.v[k]);
        const uint32_t called = SOC_CYCLES;
        report.said = rbd_ur5_id_id(&device, state.q, state.v, a, report.tau);
        const uint32_t end = SOC_CYCLES;
        report.call = end - called;
        report.period = end - begin;
        soc_send(&report, sizeof report);
    }
}
