// rope_write_kv, vector: rotation, quantisation and write in one pass over 16-byte vectors.
//
// grid    threads over (token, head, chunk of a row), the chunk fastest; the KV heads of a token
//         come after its query heads
// thread  8 elements of a query; or 8 of the keys and the same 8 of the values
// align   vectors where addresses allow and rotary_dim is a multiple of 16, else single elements
// rounding, padding  as in rope_write_kv_simple.cu, bit for bit
// paged: op         rope_write_kv
// paged: summary    one thread per 8 elements, 16-byte loads and stores
// paged: symbol     row_chunks = cdiv(head_dim, 8)
// paged: symbol     num_heads = num_q_heads + num_kv_heads
// paged: symbol     num_chunks = num_tokens * num_heads * row_chunks
// paged: launch     rope_write_kv_vector grid(cdiv(num_chunks, 128)) block(128)
// paged: registers  80
// paged: claim      sm_80 LDG.E.128

#include "rotary.cuh"
#include "stored.cuh"

constexpr int kChunk = 8;

__device__ void turn_query(const RopeWriteKvParams& p, const paged::Rotation& turn,
                           long long token, int head, int d) {
  const int count = p.head_dim - d;
  const KEY_T* row = p.query + token * p.query_stride[0] + head * p.query_stride[1];
  paged::Chunk<float, kChunk> x = {};
  if (turn.cos != nullptr) x = paged::rotated_chunk<kChunk>(row, d, count, turn);
  KEY_T* out = p.out + (token * p.num_q_heads + head) * p.head_dim + d;
  paged::store_chunk(out, paged::quantize<KEY_T>(x, paged::kNoScale), count);
}

__device__ void turn_and_write(const RopeWriteKvParams& p, const paged::Rotation& turn,
                               long long token, int head, int d) {
  const long long index = p.slot_mapping[token];
  const bool is_stored =
      index >= 0 && index < static_cast<long long>(p.num_blocks) * p.block_size;
  if (turn.cos == nullptr || !is_stored) return;
  const paged::Slot slot = paged::slot_at(index, p.block_size);
  const int count = p.head_dim - d;
  const auto write = [&](const auto& chunk, paged::KvHalf half) {
    const paged::Scale scale = paged::scale_of(p.kv_scales, p.layer, half, head, p.num_kv_heads);
    const long long to = paged::row_offset(p.kv_pool_stride, slot, p.layer, half, head);
    const auto stored = paged::quantize<KV_T>(chunk, scale);
    paged::store_chunk(p.kv_pool + to + d, stored, count);
  };
  const KEY_T* key = p.key + token * p.key_stride[0] + head * p.key_stride[1];
  const KEY_T* value = p.value + token * p.value_stride[0] + head * p.value_stride[1];
  const auto values = paged::load_chunk<kChunk>(value + d, count);
  write(paged::rotated_chunk<kChunk>(key, d, count, turn), paged::kKeys);
  write(values, paged::kValues);
}

__global__ void rope_write_kv_vector(const __grid_constant__ RopeWriteKvParams p) {
  const long long item = paged::global_thread();
  if (item >= p.num_chunks) return;
  const int row = static_cast<int>(item) / p.row_chunks;
  const int d = static_cast<int>(item) % p.row_chunks * kChunk;
  const long long token = row / p.num_heads;
  const int head = row % p.num_heads;
  const auto turn = paged::rotation_at(p.cos_sin, p.positions[token], p.max_positions,
                                       p.rotary_dim, p.interleaved);
  if (head < p.num_q_heads) {
    turn_query(p, turn, token, head, d);
  } else {
    turn_and_write(p, turn, token, head - p.num_q_heads, d);
  }
}
