/* Finds the classes of members and the groups of topics (assign_plan.h). */
#ifndef SERVER_CORE_ASSIGNOR_ASSIGN_CLASSES_H
#define SERVER_CORE_ASSIGNOR_ASSIGN_CLASSES_H

#include "server/core/assignor/assign_plan.h"

/* Sets class_count and class_of; returns the subscription of each class. */
const struct assignor_subscription **assign_classes_make(struct assign_plan *plan);

/* Sets group_count and group_of. */
void assign_classes_group_topics(struct assign_plan *plan,
                                 const struct assignor_subscription **subscriptions);

#endif
