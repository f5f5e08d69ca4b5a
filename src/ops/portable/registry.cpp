#include "ops/portable/tables.h"

#include <array>

namespace tandem::runtime {

const OperatorRegistry& OperatorRegistry::builtin() {
  static const OperatorRegistry registry = [] {
    namespace portable = ops::portable;
    OperatorRegistry all;
    for (const std::span<const Operator> table :
         {portable::arithmetic_operators(), portable::compare_operators(), portable::copy_operators(),
          portable::create_operators(), portable::index_operators(), portable::join_operators(),
          portable::matmul_operators(), portable::prim_operators(), portable::reduce_operators(),
          portable::shape_operators(), portable::softmax_operators(), portable::tensor_prim_operators(),
          portable::unary_operators(), portable::upsample_operators()}) {
      for (const Operator& op : table) ignore(all.add(op), "a test counts the tables: no name stands twice");
    }
    return all;
  }();
  return registry;
}

}  // namespace tandem::runtime
