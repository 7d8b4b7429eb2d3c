// The timing of one DDR3-1600 controller with a module of 64 bits (JESD79-3F, speed bin 11-11-11, chips of 4 Gbit with
// pages of 1 KB): a bucket is one burst of eight. The tables' clock is 200 MHz, the memory's command clock 800 MHz.
#pragma once
#include <algorithm>
#include <array>
#include <vector>

#include "memory.h"

namespace jg::card {

class Ddr3Memory : public Memory {
 public:
  using Memory::Memory;
  static constexpr double kCycleNs = 5;

  bool can_read() const override { return reads_.size() < kQueue; }
  bool can_write() const override { return writes_.size() < kQueue; }
  bool has_answer() const override { return !order_.empty() && done_[order_.front() % kDone] <= now_; }
  void tick() override {
    for (int i = 0; i < kClocks; i++, now_++) command();
  }

  uint64_t row_hits = 0, activations = 0, refreshes = 0;

 private:
  // command clocks of 1.25 ns
  static constexpr int kClocks = 4, kTRcd = 11, kTRp = 11, kTCl = 11, kTCwl = 8, kTBurst = 4, kTRas = 28, kTRrd = 5,
                       kTFaw = 24, kTWtr = 6, kTWr = 12, kTRtp = 6, kTRefi = 6240, kTRfc = 208;
  static constexpr int kBanks = 8, kController = 8;  // clocks that the controller itself takes, both ways together
  static constexpr size_t kQueue = 64, kDone = 4096, kWritesHigh = 48, kWritesLow = 8;
  static constexpr uint64_t kNever = ~uint64_t{0};
  static constexpr uint32_t kRowBuckets = 128;  // a row of 8 chips has 8 KB

  struct Access {
    uint64_t number;
    int bank;
    uint32_t row;
  };
  struct Bank {
    bool open = false;
    uint32_t row = 0;
    uint64_t column_at = 0, precharge_at = 0, activate_at = 0;  // when such a command may come
  };

  Access access(uint32_t address, uint64_t number) const {
    const uint32_t above = address / kBanks;  // neighbours are in different banks
    return {number, static_cast<int>(address % kBanks), above / kRowBuckets};
  }
  void on_read(uint32_t address) override {
    done_[next_ % kDone] = kNever;
    order_.push_back(next_);
    reads_.push_back(access(address, next_++));
  }
  void on_write(uint32_t address) override { writes_.push_back(access(address, 0)); }
  void on_take() override { order_.pop_front(); }

  // One command at most in a clock: a column of an open row first, the oldest first, else a row for the oldest.
  void command() {
    if (now_ >= refresh_at_) return refresh();
    if (writes_.size() >= kWritesHigh || (reads_.empty() && !writes_.empty())) writing_ = true;
    if (writes_.size() <= (reads_.empty() ? 0 : kWritesLow)) writing_ = false;
    std::vector<Access>& queue = writing_ ? writes_ : reads_;
    if (column(&queue)) return;
    for (const Access& a : queue) {
      Bank& bank = banks_[a.bank];
      if (!bank.open && may_activate(bank)) return activate(&bank, a.row);
      if (bank.open && bank.row != a.row && now_ >= bank.precharge_at && !wanted(queue, a.bank, bank.row)) {
        bank.open = false;
        bank.activate_at = std::max(bank.activate_at, now_ + kTRp);
        return;
      }
    }
  }

  static bool wanted(const std::vector<Access>& queue, int bank, uint32_t row) {
    return std::any_of(queue.begin(), queue.end(), [&](const Access& a) { return a.bank == bank && a.row == row; });
  }

  bool column(std::vector<Access>* queue) {
    const int delay = writing_ ? kTCwl : kTCl;
    if (now_ + delay < bus_at_ || now_ < (writing_ ? write_at_ : read_at_)) return false;
    for (size_t i = 0; i < queue->size(); i++) {
      const Access a = (*queue)[i];
      Bank& bank = banks_[a.bank];
      if (!bank.open || bank.row != a.row || now_ < bank.column_at) continue;
      const uint64_t end = now_ + delay + kTBurst;
      bus_at_ = end;
      if (writing_) {
        read_at_ = std::max(read_at_, end + kTWtr);
        bank.precharge_at = std::max(bank.precharge_at, end + kTWr);
      } else {
        write_at_ = std::max(write_at_, now_ + kTCl + kTBurst + 2 - kTCwl);
        bank.precharge_at = std::max(bank.precharge_at, now_ + kTRtp);
        done_[a.number % kDone] = end + kController;
      }
      row_hits++;
      queue->erase(queue->begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    return false;
  }

  bool may_activate(const Bank& bank) const {
    return now_ >= bank.activate_at && now_ >= row_at_ && now_ >= four_[four_next_ % 4] + kTFaw;
  }
  void activate(Bank* bank, uint32_t row) {
    bank->open = true;
    bank->row = row;
    bank->column_at = now_ + kTRcd;
    bank->precharge_at = now_ + kTRas;
    bank->activate_at = now_ + kTRas + kTRp;
    row_at_ = now_ + kTRrd;
    four_[four_next_++ % 4] = now_;
    activations++;
    row_hits--;  // the column that it is for
  }

  // All banks are closed, then the chips are busy.
  void refresh() {
    uint64_t at = now_;
    for (const Bank& bank : banks_) at = std::max(at, bank.open ? bank.precharge_at + kTRp : bank.activate_at);
    for (Bank& bank : banks_) {
      bank.open = false;
      bank.activate_at = at + kTRfc;
    }
    refresh_at_ += kTRefi;
    refreshes++;
  }

  uint64_t now_ = 1000, next_ = 0, refresh_at_ = 1000 + kTRefi;
  uint64_t bus_at_ = 0, read_at_ = 0, write_at_ = 0, row_at_ = 0;
  std::array<uint64_t, 4> four_{};
  size_t four_next_ = 0;
  bool writing_ = false;
  std::array<Bank, kBanks> banks_;
  std::vector<Access> reads_, writes_;
  std::deque<uint64_t> order_;
  std::array<uint64_t, kDone> done_{};
};

}  // namespace jg::card
