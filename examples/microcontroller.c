/* What runs on a microcontroller beside an engine on its SPI bus: the program of a ur5 is loaded once, then each tick of
 * a control loop asks for torques. Memory is static, and nothing is needed but the bus. */
#include "microcontroller.h"
#include "rbd_ur5_id_embedded.h"
#include "rbd_ur5_id_program.h"
#include "rbdgen_spi.h"

static struct rbd_spi spi;
static struct rbd_device engine = {rbd_spi_exchange, &spi, 0};

int controller_open(void)
{
    const int failed = rbd_spi_open(&spi, bus_transfer, NULL, &rbd_ur5_id_identity);
    return failed ? failed : rbd_load(&engine, rbd_ur5_id_program, rbd_ur5_id_program_blocks);
}

int controller_tick(const float q[6], const float v[6], const float a[6], float tau[6])
{
    int said = rbd_ur5_id_id(&engine, q, v, a, tau);
    if (said == RBD_ERROR_RESET) {
        /* its power was gone: a fraction of a second later it has its program again */
        said = controller_open();
        if (!said)
            said = rbd_ur5_id_id(&engine, q, v, a, tau);
    }
    return said;
}
