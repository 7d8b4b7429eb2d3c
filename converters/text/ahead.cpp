#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "text/stream.h"

namespace jg::text {
namespace {

constexpr int64_t kPieceBytes = 1 << 20;
constexpr size_t kPiecesMax = 3;  // made, and not looked at

// Short texts end in the first piece, which the caller makes: they need no thread.
class Ahead final : public Stream {
 public:
  explicit Ahead(std::unique_ptr<Stream> from) : from_(std::move(from)) {}

  ~Ahead() override {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  int64_t read(char* out, int64_t size) override {
    if (at_ == piece_.size() && !next()) return 0;
    const auto n = std::min<size_t>(static_cast<size_t>(size), piece_.size() - at_);
    std::memcpy(out, piece_.data() + at_, n);
    at_ += n;
    return static_cast<int64_t>(n);
  }

 private:
  using Piece = std::vector<char>;

  // Whole but for the text's last one, which may be empty.
  void make(Piece* piece) {
    piece->resize(kPieceBytes);
    int64_t have = 0;
    for (int64_t got = 1; have < kPieceBytes && got > 0; have += got)
      got = from_->read(piece->data() + have, kPieceBytes - have);
    piece->resize(static_cast<size_t>(have));
  }

  // The next piece becomes the one to look at; false where there is none.
  bool next() {
    at_ = 0;
    if (!begun_) {
      begun_ = done_ = true;
      make(&piece_);
      if (piece_.size() == kPieceBytes) {
        done_ = false;
        thread_ = std::thread([this] { work(); });
      }
      return !piece_.empty();
    }
    std::unique_lock lock(mutex_);
    if (!piece_.empty()) spare_.push_back(std::exchange(piece_, {}));
    changed_.wait(lock, [this] { return !made_.empty() || done_; });
    if (made_.empty()) {
      if (failure_) std::rethrow_exception(failure_);
      return false;
    }
    piece_ = std::move(made_.front());
    made_.pop_front();
    lock.unlock();
    changed_.notify_all();
    return !piece_.empty();
  }

  void work() {
    for (bool last = false; !last;) {
      Piece piece;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return made_.size() < kPiecesMax || ended_; });
        if (ended_) return;
        if (!spare_.empty()) {
          piece = std::move(spare_.back());
          spare_.pop_back();
        }
      }
      std::exception_ptr failure;
      try {
        make(&piece);
      } catch (...) {
        failure = std::current_exception();
      }
      last = failure || piece.size() < kPieceBytes;
      {
        const std::lock_guard lock(mutex_);
        failure_ = failure;
        if (!failure) made_.push_back(std::move(piece));
        done_ = last;
      }
      changed_.notify_all();
    }
  }

  const std::unique_ptr<Stream> from_;
  Piece piece_;  // up to at_ it was given out
  size_t at_ = 0;
  bool begun_ = false;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // of mutex_
  std::deque<Piece> made_;
  std::vector<Piece> spare_;
  bool ended_ = false;  // nobody looks any more
  bool done_ = false;   // nothing is made any more
  std::exception_ptr failure_;
};

}  // namespace

std::unique_ptr<Stream> ahead(std::unique_ptr<Stream> from) { return std::make_unique<Ahead>(std::move(from)); }

}  // namespace jg::text
