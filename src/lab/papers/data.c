#include "lab/papers/data.h"

extern const char papers_thesis[], papers_article[], papers_automata[], papers_array[],
    papers_makespan[], papers_results_json[];
extern const size_t papers_thesis_size, papers_article_size, papers_automata_size,
    papers_array_size, papers_makespan_size, papers_results_json_size;

const struct papers_data papers_data[PAPERS_DATA_COUNT] = {
    {papers_thesis, &papers_thesis_size},     {papers_article, &papers_article_size},
    {papers_automata, &papers_automata_size}, {papers_array, &papers_array_size},
    {papers_makespan, &papers_makespan_size},
};

const struct papers_data papers_recorded = {papers_results_json, &papers_results_json_size};
