/* Answers tasks of the host's: the state of two joints by the mailbox, what the calls return, results, and cycles. */
#include "rbd_pendulum2_id_m_embedded.h"
#include "rbdgen_registers.h"
#include "soc.h"

int main(void)
{
    struct rbd_registers registers;
    struct rbd_device device = {rbd_registers_exchange, &registers, 0};
    int32_t opened = rbd_registers_open(&registers, SOC_ACCELERATOR, &rbd_pendulum2_id_m_identity);
#ifdef PROGRAM
    if (opened == RBD_OK)
        opened = rbd_load(&device, rbd_pendulum2_id_m_program, rbd_pendulum2_id_m_program_blocks);
#endif
    soc_send(&opened, sizeof opened);
    for (;;) {
        rbd_number q[2], v[2], a[2], tau[2], mass[4];
        soc_receive(q, sizeof q);
        soc_receive(v, sizeof v);
        soc_receive(a, sizeof a);
        uint32_t said[3] = {SOC_CYCLES, 0, 0};
        said[1] = (uint32_t)rbd_pendulum2_id_m_id(&device, q, v, a, tau);
        said[0] = SOC_CYCLES - said[0];
        said[2] = (uint32_t)rbd_pendulum2_id_m_m(&device, q, mass);
        soc_send(said, sizeof said);
        soc_send(tau, sizeof tau);
        soc_send(mass, sizeof mass);
    }
}
