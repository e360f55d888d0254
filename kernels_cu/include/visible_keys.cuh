// Which keys a query token sees.
//
// Token i of a sequence with L keys and Q query tokens stands at position p = L - Q + i and sees
// keys [max(0, p + 1 - window), p], as far as the block table reaches:
//
//   keys   0 ..... begin ......... p ... L - 1
//                  [begin,         end)
//
// Tokens before query_start[0] and from query_start[num_seqs] on belong to no sequence and see no
// keys. Where query_start reaches past num_tokens, the tokens beyond are left out and the others
// keep their positions.
//
// Params is the generated struct of the attention op.
#pragma once

namespace paged {

struct KeyRange {
  int begin, end;  // none where begin >= end
};

struct VisibleKeys {
  int sequence;     // num_seqs for padding
  int position;     // of the token in its sequence; below 0 where it precedes all keys
  int begin, end;   // none where begin >= end
  bool is_padding;  // the token belongs to no sequence
};

// The sequence of a token, num_seqs for tokens of none.
template <class Params>
__device__ inline int sequence_of(const Params& p, int token) {
  const int* start = p.query_start;
  if (p.max_query_len == 1 && token < p.num_seqs) {
    // pure decode, most likely: saves the dependent loads of the search
    if (start[token] == token && start[token + 1] == token + 1) return token;
  }
  if (token < start[0]) return p.num_seqs;
  int low = 0, high = p.num_seqs;
  while (low < high) {
    const int middle = low + (high - low + 1) / 2;
    if (start[middle] <= token) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// The keys that a token at this position sees, as far as the table reaches.
template <class Params>
__device__ inline KeyRange keys_seen_from(const Params& p, int position) {
  const long long capacity = static_cast<long long>(p.max_blocks) * p.block_size;
  const long long end = min(position + 1LL, capacity);
  // careful: position - window would overflow for a window of INT_MAX and a negative position
  const int begin = position < p.window ? 0 : position - p.window + 1;
  return {begin, static_cast<int>(max(end, 0LL))};
}

// The sequence and position of a token, and the keys that it sees.
template <class Params>
__device__ inline VisibleKeys find_visible_keys(const Params& p, int token) {
  const int sequence = sequence_of(p, token);
  if (sequence == p.num_seqs) return {sequence, 0, 0, 0, true};
  const int position = p.seq_lens[sequence] - p.query_start[sequence + 1] + token;
  const KeyRange seen = keys_seen_from(p, position);
  return {sequence, position, seen.begin, seen.end, false};
}

}  // namespace paged
