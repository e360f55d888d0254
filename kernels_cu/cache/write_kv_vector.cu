// write_kv, vector: 16 bytes of keys and of values in flight per thread.
//
// grid    threads over (token, head, chunk of a row), the chunk fastest
// thread  8 elements of the keys and the same 8 of the values
// align   a row's chunks are vectors where its address allows, else single elements
// paged: op         write_kv
// paged: summary    one thread per 8 elements, 16-byte loads and stores
// paged: symbol     row_chunks = cdiv(head_dim, 8)
// paged: symbol     num_chunks = num_tokens * num_kv_heads * row_chunks
// paged: launch     write_kv_vector grid(cdiv(num_chunks, 128)) block(128)
// paged: registers  64
// paged: claim      sm_80 LDG.E.128

#include "stored.cuh"

constexpr int kChunk = 8;

__global__ void write_kv_vector(const __grid_constant__ WriteKvParams p) {
  const long long item = paged::global_thread();
  if (item >= p.num_chunks) return;
  const int row = static_cast<int>(item) / p.row_chunks;
  const int d = static_cast<int>(item) % p.row_chunks * kChunk;
  const long long token = row / p.num_kv_heads;
  const int head = row % p.num_kv_heads;
  const long long index = p.slot_mapping[token];
  if (index < 0 || index >= static_cast<long long>(p.num_blocks) * p.block_size) return;
  const paged::Slot slot = paged::slot_at(index, p.block_size);

  const int count = p.head_dim - d;
  const KEY_T* key = p.key + token * p.key_stride[0] + head * p.key_stride[1] + d;
  const KEY_T* value = p.value + token * p.value_stride[0] + head * p.value_stride[1] + d;
  // both loads start before the first store, which the compiler must not pass
  const auto keys = paged::load_chunk<kChunk>(key, count);
  const auto values = paged::load_chunk<kChunk>(value, count);
  const auto write = [&](const paged::Chunk<KEY_T, kChunk>& chunk, paged::KvHalf half) {
    const paged::Scale scale = paged::scale_of(p.kv_scales, p.layer, half, head, p.num_kv_heads);
    const long long to = paged::row_offset(p.kv_pool_stride, slot, p.layer, half, head);
    const auto stored = paged::quantize<KV_T>(chunk, scale);
    paged::store_chunk(p.kv_pool + to + d, stored, count);
  };
  write(keys, paged::kKeys);
  write(values, paged::kValues);
}
