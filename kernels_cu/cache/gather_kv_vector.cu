// gather_kv, vector: 16 bytes of keys and of values in flight per thread.
//
// grid    threads over (row, head, chunk of a row), the chunk fastest
// thread  8 elements of the keys and the same 8 of the values
// align   a row's chunks are vectors where its address allows, else single elements
// rounding, padding  as in gather_kv_simple.cu, bit for bit
// paged: op         gather_kv
// paged: summary    one thread per 8 elements, 16-byte loads and stores
// paged: symbol     row_chunks = cdiv(head_dim, 8)
// paged: symbol     num_chunks = num_tokens * num_kv_heads * row_chunks
// paged: launch     gather_kv_vector grid(cdiv(num_chunks, 128)) block(128)
// paged: registers  64
// paged: claim      sm_80 STG.E.128

#include "gather.cuh"
#include "stored.cuh"

constexpr int kChunk = 8;

__global__ void gather_kv_vector(const __grid_constant__ GatherKvParams p) {
  const long long item = paged::global_thread();
  if (item >= p.num_chunks) return;
  const int line = static_cast<int>(item) / p.row_chunks;
  const int d = static_cast<int>(item) % p.row_chunks * kChunk;
  const int head = line % p.num_kv_heads;
  const paged::Slot slot =
      paged::gathered_slot(p.kv_start, p.block_tables, p.num_seqs, p.max_blocks, p.num_blocks,
                           p.block_size, line / p.num_kv_heads);

  const int count = p.head_dim - d;
  paged::Chunk<KV_T, kChunk> keys = {};
  paged::Chunk<KV_T, kChunk> values = {};
  if (slot.block >= 0) {
    const KV_T* pool = p.kv_pool + d;
    const auto from = [&](paged::KvHalf half) {
      return pool + paged::row_offset(p.kv_pool_stride, slot, p.layer, half, head);
    };
    keys = paged::load_chunk<kChunk>(from(paged::kKeys), count);
    values = paged::load_chunk<kChunk>(from(paged::kValues), count);
  }
  const auto write = [&](KEY_T* to, const paged::Chunk<KV_T, kChunk>& chunk, paged::KvHalf half) {
    const paged::Scale scale = paged::scale_of(p.kv_scales, p.layer, half, head, p.num_kv_heads);
    to += static_cast<long long>(line) * p.head_dim + d;
    paged::store_chunk(to, paged::dequantize<KEY_T>(chunk, scale), count);
  };
  write(p.key, keys, paged::kKeys);
  write(p.value, values, paged::kValues);
}
