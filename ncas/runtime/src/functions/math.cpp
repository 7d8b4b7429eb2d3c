// Functions of numbers that generated programs call. The oracle is jumpgate/dataflow/functions_math.py.
#include <cmath>

#include "jg/kernel.h"

extern "C" {

double jg_round(double v, int digits) {
  const double power = std::pow(10.0, digits < 0 ? -digits : digits);
  const double moved = digits >= 0 ? v * power : v / power;
  if (!std::isfinite(moved) || !std::isfinite(power)) return digits >= 0 || !std::isfinite(v) ? v : 0.0;
  return digits >= 0 ? std::round(moved) / power : std::round(moved) * power;
}

double jg_truncate(double v, int digits) {
  const double power = std::pow(10.0, digits);
  return std::trunc(v * power) / power;
}

int jg_power(double a, double b, double* out) {
  if (a == 0 && b < 0) return JG_COMPUTE;
  *out = std::pow(a, b);
  return JG_OK;
}

double jg_log(double base, double v) { return std::log(v) / std::log(base); }
double jg_sign(double v) { return v != v ? v : (v > 0) - (v < 0); }
double jg_degrees(double v) { return v * (180.0 / M_PI); }
double jg_radians(double v) { return v * (M_PI / 180.0); }
double jg_floor(double v) { return std::floor(v); }
double jg_ceil(double v) { return std::ceil(v); }
double jg_sqrt(double v) { return std::sqrt(v); }
double jg_fmod(double a, double b) { return std::fmod(a, b); }
double jg_exp(double v) { return std::exp(v); }
double jg_ln(double v) { return std::log(v); }
double jg_log2(double v) { return std::log2(v); }
double jg_log10(double v) { return std::log10(v); }
double jg_sin(double v) { return std::sin(v); }
double jg_cos(double v) { return std::cos(v); }
double jg_tan(double v) { return std::tan(v); }
double jg_asin(double v) { return std::asin(v); }
double jg_acos(double v) { return std::acos(v); }
double jg_atan(double v) { return std::atan(v); }
double jg_atan2(double a, double b) { return std::atan2(a, b); }
double jg_sinh(double v) { return std::sinh(v); }
double jg_cosh(double v) { return std::cosh(v); }
double jg_tanh(double v) { return std::tanh(v); }

}  // extern "C"
