/* Presets: what the multiprocessors of real chips have, from what their makers publish. */
#include <gordian/gordian.h>

/* Lanes a multiprocessor: L load/store, C FP32, S special functions, D FP64, T tensor cores (each
 * takes a warp's instruction: 32 lanes). Latencies: cycles until an arithmetic result can be used,
 * from the CUDA C programming guide's chapter on multiprocessor-level parallelism; loads always
 * hit, as in the paper. */
static const gordian_unit fermi_units[] = {
    {'L', 0, 16, 1}, {'C', 0, 32, 1}, {'S', 0, 4, 1}, {'D', 0, 16, 1}};
static const gordian_unit kepler_units[] = {
    {'L', 0, 32, 1}, {'C', 0, 192, 1}, {'S', 0, 32, 1}, {'D', 0, 64, 1}};
static const gordian_unit volta_units[] = {
    {'L', 0, 32, 1}, {'C', 0, 64, 1}, {'S', 0, 16, 1}, {'D', 0, 32, 1}, {'T', 0, 256, 1}};
static const gordian_unit ampere_units[] = {
    {'L', 0, 32, 1}, {'C', 0, 64, 1}, {'S', 0, 16, 1}, {'D', 0, 32, 1}, {'T', 0, 128, 1}};
static const gordian_unit hopper_units[] = {
    {'L', 0, 32, 1}, {'C', 0, 128, 1}, {'S', 0, 16, 1}, {'D', 0, 64, 1}, {'T', 0, 128, 1}};

static const uint32_t fermi_latencies[] = {1, 22, 22, 22};
static const uint32_t kepler_latencies[] = {1, 11, 11, 11};
static const uint32_t later_latencies[] = {1, 4, 4, 4, 4};

static const gordian_chip chips[] = {
    {"fermi", "NVIDIA Fermi (GF100, compute capability 2.0)", 2, 48, fermi_units, 4,
     fermi_latencies, "NVIDIA, Fermi compute architecture whitepaper, 2009"},
    {"kepler", "NVIDIA Kepler (GK110, compute capability 3.5)", 4, 64, kepler_units, 4,
     kepler_latencies, "NVIDIA, Kepler GK110 architecture whitepaper, 2012"},
    {"volta", "NVIDIA Volta (GV100, compute capability 7.0)", 4, 64, volta_units, 5,
     later_latencies, "NVIDIA, Tesla V100 GPU architecture whitepaper, 2017"},
    {"ampere", "NVIDIA Ampere (GA100, compute capability 8.0)", 4, 64, ampere_units, 5,
     later_latencies, "NVIDIA, A100 Tensor Core GPU architecture whitepaper, 2020"},
    {"hopper", "NVIDIA Hopper (GH100, compute capability 9.0)", 4, 64, hopper_units, 5,
     later_latencies, "NVIDIA, H100 Tensor Core GPU architecture whitepaper, 2022"},
};

gordian_status gordian_chip_info(size_t index, gordian_chip *chip)
{
    if (index >= sizeof chips / sizeof *chips)
        return GORDIAN_END;
    *chip = chips[index];
    return GORDIAN_OK;
}
