bench_store() { :; }
bench_service() { :; }
