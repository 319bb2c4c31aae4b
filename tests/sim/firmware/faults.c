/* What goes wrong between firmware and an engine without a program: what calls return, one after the other. */
#include "rbd_pendulum2_id_m_embedded.h"
#include "rbd_pendulum2_id_m_program.h"
#include "rbdgen_registers.h"
#include "soc.h"

static struct rbd_registers registers;
static struct rbd_device device = {rbd_registers_exchange, &registers, 0};

static void say(int32_t code)
{
    soc_send(&code, sizeof code);
}

static int open_it(void)
{
    return rbd_registers_open(&registers, SOC_ACCELERATOR, &rbd_pendulum2_id_m_identity);
}

static int call(void)
{
    static const rbd_number zero[2];
    rbd_number tau[2];
    return rbd_pendulum2_id_m_id(&device, zero, zero, zero, tau);
}

static int load(void)
{
    return rbd_load(&device, rbd_pendulum2_id_m_program, rbd_pendulum2_id_m_program_blocks);
}

int main(void)
{
    struct rbd_identity other = rbd_pendulum2_id_m_identity;
    other.words[3] ^= 1;
    say(rbd_registers_open(&registers, SOC_ACCELERATOR, &other));
    say(open_it());
    /* no program, and so no function: its task's words are tasks of their own, which the reset takes away */
    say(call());
    say(call());
    say(open_it());
    say(load());
    say(call());
    /* a reset that somebody else gives */
    rbd_registers_reset(&registers);
    say(call());
    say(open_it());
    say(load());
    /* an answer that is not waited for, and the next one is not mistaken for it */
    registers.polls = 1;
    say(call());
    say(call());
    say(open_it());
    say(load());
    say(call());
    return 0;
}
