/* Result of measuring a published method. */
#pragma once

/* Nanoseconds. */
struct measure_time {
    double device; /* between two events in the device's stream, as the papers' timers measure; 0:
                      no device was used */
    double wall;   /* from the call until the answer is available */
};
