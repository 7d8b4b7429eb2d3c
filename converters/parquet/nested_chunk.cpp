// Assembles rows of nested columns from definition and repetition levels (Melnik et al.: Dremel, VLDB 2010,
// section 4.3; parquet-format, LogicalTypes.md, "Nested Types" for the shapes of lists and maps, old ones too).
#include "parquet/nested_chunk.h"

#include <algorithm>

#include "common/nested.h"
#include "parquet/leaf_cursor.h"

namespace jg::columnar {

namespace {

using parquet::schema::GroupNode;
using TreeNode = parquet::schema::Node;

// A part of the column's type over the file's tree. An entry of a leaf below has a value of this part from definition
// level `defined` on; `repeated` levels of lists are above it.
struct TreePart {
  enum Kind { kLeaf, kStruct, kList, kMissing } kind = kMissing;
  int16_t defined = 0, repeated = 0;
  const std::vector<ColumnSpec>* fields = nullptr;  // of a struct
  std::vector<std::unique_ptr<TreePart>> parts;     // fields, or the element
  std::unique_ptr<ListWriter> list;
  bool probes = false;  // a struct: its first leaf only tells whether it is there
  size_t first = 0, end = 0;
};

struct TreeLeaf {
  const ColumnSpec* spec;  // null: only its levels are read
  const parquet::ColumnDescriptor* found;
};

class TreeBuilder {
 public:
  TreeBuilder(const ColumnSpec& column, const parquet::SchemaDescriptor& schema) : column_(column), schema_(schema) {}

  std::unique_ptr<TreePart> build(const TreeNode& node) {
    int16_t above = 0;
    for (const TreeNode* parent = node.parent(); parent && parent->parent(); parent = parent->parent())
      above = static_cast<int16_t>(above + parent->is_optional());
    return part(column_, node, above, 0, false);
  }
  std::vector<TreeLeaf> leaves;

 private:
  // `entry`: the node is repeated, and this is about one of its values.
  std::unique_ptr<TreePart> part(const ColumnSpec& spec, const TreeNode& node, int16_t defined, int16_t repeated,
                                 bool entry) {
    auto out = std::make_unique<TreePart>();
    if (node.is_optional()) ++defined;
    out->defined = defined;
    out->repeated = repeated;
    out->first = leaves.size();
    const bool list = node.logical_type()->is_list() || node.logical_type()->is_map();
    if (node.is_repeated() && !entry) {
      if (spec.nesting != Nesting::kList) throw wrong_type(column_, "a repeated field");
      set_list(out.get(), spec.parts[0], node, true);
    } else if (spec.nesting == Nesting::kNone) {
      if (!node.is_primitive()) throw wrong_type(column_, "a nested type");
      out->kind = TreePart::kLeaf;
      leaves.push_back({&spec, schema_.Column(schema_.ColumnIndex(node))});
    } else if (node.is_primitive() || list == (spec.nesting == Nesting::kStruct)) {
      throw wrong_type(column_, node.is_primitive() ? "a flat type" : "another nested type");
    } else if (spec.nesting == Nesting::kStruct) {
      set_struct(out.get(), spec.parts, static_cast<const GroupNode&>(node));
    } else {
      const auto& group = static_cast<const GroupNode&>(node);
      if (group.field_count() != 1 || !group.field(0)->is_repeated()) throw wrong_type(column_, "a list of no shape");
      const TreeNode& values = *group.field(0);
      if (spec.nesting == Nesting::kMap) {
        set_map(out.get(), spec, values);
      } else {
        const bool wrapped = wraps(group, values);
        set_list(out.get(), spec.parts[0], values, !wrapped);
      }
    }
    out->end = leaves.size();
    return out;
  }

  // Return whether the repeated group only stands for the list, and its content is the element.
  static bool wraps(const GroupNode& list, const TreeNode& values) {
    if (values.is_primitive()) return false;
    const auto& group = static_cast<const GroupNode&>(values);
    if (group.field_count() != 1 || group.field(0)->is_repeated()) return false;
    if (values.logical_type()->is_list() || values.logical_type()->is_map()) return false;
    return values.name() != "array" && values.name() != list.name() + "_tuple";
  }

  // `whole`: a value of the repeated node is an element; else its only field is.
  void set_list(TreePart* out, const ColumnSpec& element, const TreeNode& values, bool whole) {
    out->kind = TreePart::kList;
    out->list = std::make_unique<ListWriter>(element);
    const TreeNode& node = whole ? values : *static_cast<const GroupNode&>(values).field(0);
    out->parts.push_back(part(element, node, below(out->defined), below(out->repeated), whole));
  }

  void set_map(TreePart* out, const ColumnSpec& spec, const TreeNode& values) {
    if (values.is_primitive() || static_cast<const GroupNode&>(values).field_count() != 2)
      throw wrong_type(column_, "a map of no shape");
    const auto& group = static_cast<const GroupNode&>(values);
    out->kind = TreePart::kList;
    out->list = std::make_unique<ListWriter>(map_entry());
    auto entry = std::make_unique<TreePart>();
    entry->kind = TreePart::kStruct;
    entry->defined = below(out->defined);
    entry->repeated = below(out->repeated);
    entry->fields = &spec.parts;
    entry->first = leaves.size();
    for (int i = 0; i < 2; ++i)
      entry->parts.push_back(
          part(spec.parts[static_cast<size_t>(i)], *group.field(i), entry->defined, entry->repeated, false));
    entry->end = leaves.size();
    out->parts.push_back(std::move(entry));
  }

  void set_struct(TreePart* out, const std::vector<ColumnSpec>& fields, const GroupNode& group) {
    out->kind = TreePart::kStruct;
    out->fields = &fields;
    for (const ColumnSpec& field : fields) {
      const int at = group.FieldIndex(field.name);
      if (at < 0) refuse_other_case(column_, field.name, field_names(group));
      out->parts.push_back(at < 0 ? std::make_unique<TreePart>()
                                  : part(field, *group.field(at), out->defined, out->repeated, false));
    }
    if (leaves.size() > out->first) return;
    out->probes = true;  // the file has none of the fields, or none is wanted
    const parquet::ColumnDescriptor* cheapest = nullptr;
    auto cost = [](const parquet::ColumnDescriptor* leaf) {
      return std::pair(leaf->max_repetition_level(), leaf->physical_type() >= parquet::Type::BYTE_ARRAY);
    };
    for (int i = 0; i < schema_.num_columns(); ++i) {
      const TreeNode* node = schema_.Column(i)->schema_node().get();
      while (node && node != &group) node = node->parent();
      if (node && (!cheapest || cost(schema_.Column(i)) < cost(cheapest))) cheapest = schema_.Column(i);
    }
    if (!cheapest) throw wrong_type(column_, "a struct without fields");
    leaves.push_back({nullptr, cheapest});
  }

  static int16_t below(int16_t level) { return static_cast<int16_t>(level + 1); }

  const ColumnSpec& column_;
  const parquet::SchemaDescriptor& schema_;
};

// If only levels matter, values need no conversion.
std::unique_ptr<LeafCursor> make_probe(const parquet::ColumnDescriptor* found, RecyclingPool* pool) {
  auto leaf = [&]<class Physical>() -> std::unique_ptr<LeafCursor> {
    auto nothing = [](const typename Physical::c_type&) { return uint8_t{0}; };
    return std::make_unique<TypedLeaf<Physical, uint8_t, decltype(nothing)>>(found, pool, nothing);
  };
  switch (found->physical_type()) {
    case parquet::Type::BOOLEAN:
      return leaf.operator()<parquet::BooleanType>();
    case parquet::Type::INT32:
      return leaf.operator()<parquet::Int32Type>();
    case parquet::Type::INT64:
      return leaf.operator()<parquet::Int64Type>();
    case parquet::Type::INT96:
      return leaf.operator()<parquet::Int96Type>();
    case parquet::Type::FLOAT:
      return leaf.operator()<parquet::FloatType>();
    case parquet::Type::DOUBLE:
      return leaf.operator()<parquet::DoubleType>();
    case parquet::Type::BYTE_ARRAY:
      return leaf.operator()<parquet::ByteArrayType>();
    default:
      return leaf.operator()<parquet::FLBAType>();
  }
}

class NestedChunkReader final : public ChunkReader {
 public:
  NestedChunkReader(const ColumnSpec& column, const TreeNode& node, const parquet::SchemaDescriptor& schema,
                    RecyclingPool* pool)
      : column_(column) {
    TreeBuilder builder(column, schema);
    root_ = builder.build(node);
    for (const TreeLeaf& leaf : builder.leaves)
      leaves_.push_back(leaf.spec ? make_leaf(*leaf.spec, leaf.found, pool) : make_probe(leaf.found, pool));
  }

  void start(std::shared_ptr<arrow::io::RandomAccessFile> file, const std::vector<ChunkPlace>& places) override {
    file_ = std::move(file);
    places_ = places;
    opened_ = false;
  }

  void read(int64_t row, int32_t rows, const int32_t* sel, int32_t n, ColumnRoom& room, JgCol* out) override {
    if (!opened_) {
      for (size_t i = 0; i < leaves_.size(); ++i) leaves_[i]->start(file_, places_[i]);
      opened_ = true;
      row_ = 0;
    }
    auto* values = reinterpret_cast<JgStr*>(room.data);
    bool nulls = false;
    bytes_.clear();
    const int32_t count = sel ? n : rows;
    for (int32_t i = 0; i < count; ++i) {
      const int32_t at = sel ? sel[i] : i;
      for (; row_ < row + at; ++row_) next_row([&] { skip(*root_); });
      ++row_;
      const size_t begin = bytes_.size();
      bool present = false;
      next_row([&] { present = assemble(*root_, &bytes_); });
      room.valid[at] = present;
      nulls |= !present;
      values[at].size = bytes_.size() - begin;
    }
    if (nulls && !column_.nullable) throw unexpected_null(column_);
    const char* next = bytes_.data();
    for (int32_t i = 0; i < count; ++i) {
      JgStr& value = values[sel ? sel[i] : i];
      value.data = next;
      next += value.size;
    }
    out->data = values;
    out->valid = nulls ? room.valid.get() : nullptr;
  }

 private:
  template <class Body>
  void next_row(Body&& body) {
    for (const auto& leaf : leaves_) {
      if (leaf->ended()) malformed("it ends after " + std::to_string(row_) + " rows");
    }
    body();
    for (const auto& leaf : leaves_) {
      if (leaf->repetition() != 0) malformed("its leaves disagree about the lengths of lists");
    }
  }

  void skip(const TreePart& part) {
    for (size_t i = part.first; i < part.end; ++i) skip(*leaves_[i], part.repeated);
  }
  static void skip(LeafCursor& leaf, int16_t repeated) {
    do {
      leaf.advance();
    } while (leaf.repetition() > repeated);
  }

  // Appends the value at the cursors, and moves them behind it; false: NULL.
  bool assemble(TreePart& part, NestedBytes* out) {
    if (part.kind == TreePart::kMissing) return false;
    LeafCursor& lead = *leaves_[part.first];
    if (lead.ended()) malformed("its leaves disagree about the lengths of lists");
    if (lead.definition() < part.defined) {
      skip(part);
      return false;
    }
    switch (part.kind) {
      case TreePart::kLeaf: {
        lead.append(out);
        lead.advance();
        return true;
      }
      case TreePart::kStruct:
        write_struct(*part.fields, out, [&](size_t i, NestedBytes* to) { return assemble(*part.parts[i], to); });
        if (part.probes) skip(lead, part.repeated);
        return true;
      default:
        if (lead.definition() == part.defined) {
          skip(part);
        } else {
          do {
            part.list->add([&](NestedBytes* to) { return assemble(*part.parts[0], to); });
          } while (again(part));
        }
        part.list->finish(out);
        return true;
    }
  }

  // Return whether a further element of the list follows; all leaves must agree.
  bool again(const TreePart& list) const {
    const bool more = leaves_[list.first]->repetition() > list.repeated;
    for (size_t i = list.first + 1; i < list.end; ++i) {
      if ((leaves_[i]->repetition() > list.repeated) != more)
        malformed("its leaves disagree about the lengths of lists");
    }
    return more;
  }

  const ColumnSpec& column_;
  std::unique_ptr<TreePart> root_;
  std::vector<std::unique_ptr<LeafCursor>> leaves_;
  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  std::vector<ChunkPlace> places_;
  bool opened_ = false;
  int64_t row_ = 0;
  NestedBytes bytes_;
};

}  // namespace

std::vector<std::string> field_names(const parquet::schema::GroupNode& group) {
  std::vector<std::string> names;
  for (int i = 0; i < group.field_count(); ++i) names.push_back(group.field(i)->name());
  return names;
}

std::vector<const parquet::ColumnDescriptor*> nested_leaves(const ColumnSpec& column, const TreeNode& node,
                                                            const parquet::SchemaDescriptor& schema) {
  TreeBuilder builder(column, schema);
  builder.build(node);
  std::vector<const parquet::ColumnDescriptor*> found;
  for (const TreeLeaf& leaf : builder.leaves) found.push_back(leaf.found);
  return found;
}

std::unique_ptr<ChunkReader> make_nested_reader(const ColumnSpec& column, const TreeNode& node,
                                                const parquet::SchemaDescriptor& schema, RecyclingPool* pool) {
  return std::make_unique<NestedChunkReader>(column, node, schema, pool);
}

}  // namespace jg::columnar
