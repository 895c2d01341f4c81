#include "rpc/ensure.h"
#include "server/core/internal.h"

void call_list_init(struct call_list *list)
{
    *list = (struct call_list){.first = NULL, .last = &list->first};
}

void call_list_push(struct call_list *list, struct call *call)
{
    ensure(call->link == NULL);
    call->next = NULL;
    call->link = list->last;
    *list->last = call;
    list->last = &call->next;
    list->count++;
}

void call_list_remove(struct call_list *list, struct call *call)
{
    ensure(call->link != NULL && *call->link == call && list->count > 0);
    *call->link = call->next;
    if (call->next != NULL) {
        call->next->link = call->link;
    } else {
        list->last = call->link;
    }
    call->next = NULL;
    call->link = NULL;
    list->count--;
}

struct call *call_list_pop(struct call_list *list)
{
    struct call *call = list->first;
    if (call != NULL) {
        call_list_remove(list, call);
    }
    return call;
}
