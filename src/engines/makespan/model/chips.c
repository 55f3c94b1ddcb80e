/* Presets: the units per multiprocessor of real chips, and their sources. docs/guide/makespan.md
 * has the source of each figure. */
#include <gordian/gordian.h>

/*
 * Lanes per multiprocessor: L load/store, C cores, S special functions, D FP64, T tensor cores: 32
 * for each quarter of the multiprocessor that accepts a warp's instruction (a T is 512
 * multiply-adds: data/ptx-units.tsv). C is the number of lanes for integers and logic: on Hopper
 * FP32 alone has twice as many, and since Volta both can run at the same time, so no bound is too
 * low.
 *
 * Latencies: cycles until a result can be used. L 1: loads always hit, as in the paper.
 */
static const gordian_unit fermi_units[] = {
    {'L', 0, 16, 1}, {'C', 0, 32, 1}, {'S', 0, 4, 1}, {'D', 0, 16, 1}};
static const gordian_unit kepler_units[] = {
    {'L', 0, 32, 1}, {'C', 0, 160, 1}, {'S', 0, 32, 1}, {'D', 0, 64, 1}};
static const gordian_unit volta_units[] = {
    {'L', 0, 32, 1}, {'C', 0, 64, 1}, {'S', 0, 16, 1}, {'D', 0, 32, 1}, {'T', 0, 128, 4}};
static const gordian_unit ampere_units[] = {
    {'L', 0, 32, 1}, {'C', 0, 64, 1}, {'S', 0, 16, 1}, {'D', 0, 32, 1}, {'T', 0, 128, 2}};
static const gordian_unit hopper_units[] = {
    {'L', 0, 32, 1}, {'C', 0, 64, 1}, {'S', 0, 16, 1}, {'D', 0, 64, 1}, {'T', 0, 128, 1}};

static const uint32_t fermi_latencies[] = {1, 22, 22, 22};
static const uint32_t kepler_latencies[] = {1, 11, 18, 11};
static const uint32_t volta_latencies[] = {1, 4, 20, 8, 8};
static const uint32_t ampere_latencies[] = {1, 4, 23, 6, 8};
static const uint32_t hopper_latencies[] = {1, 4, 23, 8, 8};

#define OLD_GUIDE "; CUDA C Programming Guide 4.2, sections 5.2.3 (latencies) and 5.4.1 (rates)"
#define GUIDE     "; CUDA C++ Programming Guide, \"Arithmetic Instructions\"; latencies: "

static const gordian_chip chips[] = {
    {"fermi", "NVIDIA Fermi (GF100, compute capability 2.0)", 2, 48, fermi_units, 4,
     fermi_latencies, "NVIDIA, Fermi compute architecture whitepaper, 2009" OLD_GUIDE},
    {"kepler", "NVIDIA Kepler (GK110, compute capability 3.5)", 4, 64, kepler_units, 4,
     kepler_latencies,
     "NVIDIA, Kepler GK110 whitepaper, 2012" OLD_GUIDE
     "; latency of S: Arafa et al., HPEC 2019 (measured)"},
    {"volta", "NVIDIA Volta (GV100, compute capability 7.0)", 4, 64, volta_units, 5,
     volta_latencies,
     "NVIDIA, Tesla V100 whitepaper, 2017" GUIDE
     "Volta Tuning Guide; S, D: Accel-Sim (measured); T: assumed"},
    {"ampere", "NVIDIA Ampere (GA100, compute capability 8.0)", 4, 64, ampere_units, 5,
     ampere_latencies,
     "NVIDIA, A100 Tensor Core GPU whitepaper, 2020" GUIDE
     "Abdelkhalik et al., HPEC 2022, and for S, D Accel-Sim (measured); T: assumed"},
    {"hopper", "NVIDIA Hopper (GH100, compute capability 9.0)", 4, 64, hopper_units, 5,
     hopper_latencies,
     "NVIDIA, H100 Tensor Core GPU whitepaper, 2022" GUIDE "Accel-Sim (measured); T: assumed"},
};

gordian_status gordian_chip_info(size_t index, gordian_chip *chip)
{
    if (index >= sizeof chips / sizeof *chips)
        return GORDIAN_STATUS_END;
    *chip = chips[index];
    return GORDIAN_OK;
}
