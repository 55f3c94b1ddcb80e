/* Does nvcc work here? The build compiles this to find out. */
extern "C" __global__ void probe(int *out)
{
    *out = 1;
}
