/* The build compiles this to find out whether nvcc works. */
extern "C" __global__ void probe(int *out)
{
    *out = 1;
}
