// Approximate distinct counts: as jumpgate/dataflow/coupons.py has them, which says how and why.
#pragma once
#include <stdint.h>

#define JG_COUPON_ROWS 8192
#define JG_COUPON_COLUMNS 32

static inline int64_t jg_distinct_estimate(int64_t coupons) {
  const double last = (double)((int64_t)JG_COUPON_ROWS << (JG_COUPON_COLUMNS - 1));
  const int64_t most = JG_COUPON_ROWS * (JG_COUPON_COLUMNS - 4);
  const double wanted = coupons < 0 ? 0.0 : (double)(coupons < most ? coupons : most);
  const int64_t full = (int64_t)wanted / JG_COUPON_ROWS;
  double found = full >= 2 ? (double)((int64_t)JG_COUPON_ROWS << (full - 2)) : wanted;
  for (int i = 0; i < 8; i++) {
    const double x = found / last;
    double drawn = x * (1.0 - x * (0.5 - x / 6.0)), rise = 1.0 - drawn;
    double all_drawn = drawn + drawn, all_rise = rise + rise;
    for (int j = 0; j < JG_COUPON_COLUMNS - 2; j++) {
      rise = 2.0 * rise * (1.0 - drawn);
      drawn = drawn * (2.0 - drawn);
      all_drawn += drawn;
      all_rise += rise;
    }
    const double step = (wanted - JG_COUPON_ROWS * all_drawn) / (JG_COUPON_ROWS * all_rise / last);
    found += step;
    if (step < 1e-3 && step > -1e-3) break;
  }
  return (int64_t)(found + 0.5);
}
