-- Ingest, the hot path: one group of samples. The arrays come in binary, in the order of struct
-- sample's columns in chunk.h; so do the figures of each.
INSERT INTO chunk (job, run, leg, phase, seq, seq_last, small, count, at_first, at_last,
                   load_first, load_last, elapsed_first, elapsed_last,
                   load_min, load_max, load_sum, elapsed_min, elapsed_max, elapsed_sum,
                   ops_min, ops_max, ops_sum, bytes_min, bytes_max, bytes_sum,
                   errors_min, errors_max, errors_sum, cpu_min, cpu_max, cpu_sum,
                   switches_min, switches_max, switches_sum, p50_min, p50_max, p50_sum,
                   p99_min, p99_max, p99_sum, max_min, max_max, max_sum,
                   lane, at, load, elapsed, ops, bytes, errors, cpu, switches, p50, p99, max)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
        $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38,
        $39, $40, $41, $42, $43, $44, $45, $46, $47, $48, $49, $50, $51, $52, $53, $54, $55, $56)
